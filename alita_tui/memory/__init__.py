"""What earlier tasks taught: episodes and recipes, written from verified events and recalled sparingly.

May import: alita_tui.spine. Never: a sibling room, TinyDB, a model.
"""
