"""A session seen again: an indexed recording, and a player that feeds it to the console as a source.

May import: spine, view. Never: an engine, a sandbox, a store, a command sink. Nothing here can act.
"""
