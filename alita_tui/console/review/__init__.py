"""The review of a build: evidence, code, and the verdict."""
