"""The list of sessions, and two of them side by side."""
