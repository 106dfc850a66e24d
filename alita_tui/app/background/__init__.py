"""Tasks without a console: a process in the background that does them, on a schedule too, and consoles on it."""
