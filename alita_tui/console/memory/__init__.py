"""The memory: what is remembered, where it comes from, and forgetting it."""
