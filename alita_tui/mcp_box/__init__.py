"""The Model Context Protocol, both ways: serve the library to any client, use the tools of other servers."""
