"""Storage: journaled TinyDB files for sessions, registry and memory; parked verdicts; the audit log.

May import: alita_tui.spine, tinydb (only here). Never: a sibling room.
"""
