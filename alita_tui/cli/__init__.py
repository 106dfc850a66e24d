"""Typer commands, thin: parse, call wiring, print. Exit codes are an interface.

May import: wiring, config, view, spine. Never: Textual or an SDK at import time.
"""
