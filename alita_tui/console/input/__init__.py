"""From the terminal's bytes to keys, and what is known of when each was made."""
