"""Playing a recording, and going back in a running session."""
