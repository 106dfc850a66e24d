"""Python tools."""
