"""MCP servers whose tools are used: how they stand, and switching, testing and removing them."""
