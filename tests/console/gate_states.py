"""Builds with checks in every state."""

from __future__ import annotations

from alita_tui.events import GateResult
from alita_tui.events.build import CHECKS


def every(*odd: GateResult) -> tuple[GateResult, ...]:
    """All gates: these as they are, the others passed."""
    known = {one.gate: one for one in odd}
    sound = {name: GateResult(gate=name, state="passed", summary="sound") for name in CHECKS}
    return tuple((sound | known).values())
