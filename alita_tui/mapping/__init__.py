"""Maps: one tool over many inputs, which are read row by row, run in parallel, stored in parts, and resumed."""
