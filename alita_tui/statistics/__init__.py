"""Where money and time go: rows from the sessions' records, figures over them, estimates. Pure."""
