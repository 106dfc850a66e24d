"""Whole screens: the session, and what opens over it.

May import: console, view, spine. Never: a port's implementation. They post messages; the app acts on them.
"""
