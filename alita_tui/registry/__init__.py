"""The library of approved tools: versions, lineage, trust, search. Files in the box, index in documents.

May import: alita_tui.spine. Never: a sibling room, TinyDB, the sandbox.
"""
