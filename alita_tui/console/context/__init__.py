"""What the next call of the model would send."""
