"""Typer commands, thin: parse, call `app`, print. Exit codes are an interface.

`--help`, `--version` and lists import neither Textual nor an SDK.
"""
