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
    """The row's arguments, if it has no result."""
    unsure: bool = False
    """True if it may have run; then it is not run again automatically."""
