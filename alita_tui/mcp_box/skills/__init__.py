"""Agent Skills of others: read as hostile files, held to the format, shown with what is odd about them."""
