"""The state of a session: a pure reduction of its events over raw text.

Engine, replay and console read it; `view` turns it into rows and text for the screen.
"""
