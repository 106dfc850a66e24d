"""Serving the library to MCP clients: what is served, in which session and process, and the settings of clients."""
