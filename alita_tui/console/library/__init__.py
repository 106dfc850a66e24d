"""A tool of the library: versions, history and code."""
