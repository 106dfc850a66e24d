"""Tools of other servers: connects, lists, compares with what was approved, calls."""
