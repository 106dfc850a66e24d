"""Tasks without a console: a background process that runs them, also on a schedule, and consoles attached to it."""
