"""How rows of the trace show that a tool was called by another tool."""

from __future__ import annotations

from alita_tui import events as e
from alita_tui.events import SessionEvent
from alita_tui.spine.envelope import Envelope

_MOST = 9
"""Most marks, also for a damaged record."""


def nesting(envelope: Envelope) -> str:
    """Return what a row begins with: the agent that it is of, and a mark for each call that its own is inside of."""
    event = envelope.event
    depth = 0 if isinstance(event, e.AgentStarted) else min(int(getattr(event, "depth", 0)), _MOST)
    whose = f"{envelope.delegate} │ " if envelope.delegate else ""
    return whose + (f"{'· ' * (depth - 1)}↳ " if depth > 0 else "")


_ALONE = e.ModelReplied | e.ModelFailed | e.FeedbackGiven | e.ModelDelta | e.BudgetReserved | e.BudgetSpent
"""Events with the id of a call of a model, or of what they are about: no part of an action."""


def card_key(event: SessionEvent) -> tuple[str, str]:
    """Return the action, call or build that an event belongs to, and what began that; empty for others."""
    if isinstance(event, _ALONE):
        return "", ""
    ids = [str(getattr(event, name, "")) for name in ("build_id", "call_id", "action_id")]
    key = next(filter(None, ids), "")
    began = str(getattr(event, "caller", "")) or ids[2]
    return key, began if began != key else ""
