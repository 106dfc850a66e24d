"""The MCP servers that alita uses: how they are stored, prepared, tried and shown."""
