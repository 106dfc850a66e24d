"""Tools of other servers: connected to, listed, held to what was approved, called."""
