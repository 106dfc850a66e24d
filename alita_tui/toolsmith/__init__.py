"""From a gap in the library to a build that a person can decide on: draft, review, test, repair, gate.

May import: spine and view. Never: Textual, a store, a vendor's SDK. Runs no generated code itself.
"""
