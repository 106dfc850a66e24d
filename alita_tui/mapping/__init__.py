"""One tool over many inputs: read row by row, run side by side, stored in parts, continued after a kill."""
