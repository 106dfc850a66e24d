"""The frozen view of a session, folded from its events: what the screen shows.

May import: spine. Never: Textual, files, clocks. Time comes from the envelopes.
"""
