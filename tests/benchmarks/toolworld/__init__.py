"""Toolworld: a long stream of tasks through the real engine, to see whether the library gets better with use."""
