"""The ReAct loop: think, act, observe; with budget, steering, interruption and resumption.

May import: spine and view. Never: Textual, a store, a vendor's SDK, a sandbox.
"""
