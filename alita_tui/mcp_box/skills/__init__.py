"""Agent Skills of others: read as hostile files, checked against the format, shown with their risks."""
