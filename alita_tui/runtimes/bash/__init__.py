"""Bash tools."""
