"""The outcome of a row."""

from __future__ import annotations

from alita_tui.events import Json, Value


class Outcome(Value, frozen=True):
    """The outcome of a row."""

    row: int
    result: Json = None
    reason: str = ""
    """Why it has no result; empty if it has one."""
    arguments: Json = None
    """For those without a result."""
    unsure: bool = False
    """It may have run, and is not run again by itself."""
