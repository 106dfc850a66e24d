"""One tool over many inputs: read row by row, run side by side, kept in parts, gone on with after a kill."""
