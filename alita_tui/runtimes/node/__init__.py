"""JavaScript and TypeScript tools, on node."""
