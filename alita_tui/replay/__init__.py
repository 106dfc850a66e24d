"""A session seen again: an indexed recording, and a player that feeds it to the console as a source.

May import spine and view only: nothing here has an engine, a sandbox, a store or a command sink to act with.
"""
