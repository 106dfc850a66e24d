"""What the screen means: one frozen view of a session, folded from its events.

May import: spine. Never: Textual, files, clocks. Time comes from the envelopes.
"""
