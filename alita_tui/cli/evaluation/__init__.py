"""`alita eval`, and the evaluations of a session of lines."""
