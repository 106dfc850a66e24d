"""The composition root: settings become parts, and parts a live session, a replay or a headless run.

Imported by cli and by tests that use alita whole. May import every other room.
"""
