"""Parsers of hostile bytes, each run in a process that can reach nothing: no file, no network, no child, no key."""
