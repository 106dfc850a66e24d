"""Show money, tokens and models."""
