"""Settings and paths: where files are, what is set, and where each value came from.

May import: the spine; platformdirs and tomlkit inside functions. Never: another room.
"""
