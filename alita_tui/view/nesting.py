"""How rows of the trace show that a tool was called by another tool."""

from __future__ import annotations

from alita_tui import events as e
from alita_tui.events import SessionEvent
from alita_tui.spine.envelope import Envelope

_MOST = 9
"""Maximum number of marks, also for a damaged record."""


def nesting(envelope: Envelope) -> str:
    """Return the prefix of a row: the agent that it belongs to, and a mark for each call that encloses its own."""
    event = envelope.event
    depth = 0 if isinstance(event, e.AgentStarted) else min(int(getattr(event, "depth", 0)), _MOST)
    agent = f"{envelope.delegate} │ " if envelope.delegate else ""
    return agent + (f"{'· ' * (depth - 1)}↳ " if depth > 0 else "")


_ALONE = e.ModelReplied | e.ModelFailed | e.FeedbackGiven | e.ModelDelta | e.BudgetReserved | e.BudgetSpent
"""Events with the id of a model call, or of what they are about; they are no part of an action."""


def card_key(event: SessionEvent) -> tuple[str, str]:
    """Return the ids of an event's action, call or build and of what began it; empty for other events."""
    if isinstance(event, _ALONE):
        return "", ""
    ids = [str(getattr(event, name, "")) for name in ("build_id", "call_id", "action_id")]
    key = next(filter(None, ids), "")
    began = str(getattr(event, "caller", "")) or ids[2]
    return key, began if began != key else ""
