"""How rows of the trace show that a tool was called by another one."""

from __future__ import annotations

from alita_tui.events import SessionEvent

_MOST = 9
"""Marks at most, whatever a damaged record says."""


def nesting(event: SessionEvent) -> str:
    """Return what a row begins with: a mark for each call that its own is inside of."""
    depth = min(int(getattr(event, "depth", 0)), _MOST)
    return f"{'· ' * (depth - 1)}↳ " if depth > 0 else ""
