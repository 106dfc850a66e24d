"""Money, tokens and models."""
