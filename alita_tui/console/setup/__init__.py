"""The wizard that chooses provider, model and key."""
