"""Builds with checks in every state."""

from __future__ import annotations

from alita_tui.events import GateResult
from alita_tui.state.build import GATES


def every(*odd: GateResult) -> tuple[GateResult, ...]:
    """All gates: these as they are, the others passed."""
    known = {one.gate: one for one in odd}
    sound = {name: GateResult(gate=name, state="passed", summary="sound") for name in GATES}
    return tuple((sound | known).values())
