"""The words and tones of verdicts."""

from __future__ import annotations

from alita_tui import events as e
from alita_tui.view.model import Tone

DECISION: dict[e.Decision, str] = {
    "approved": "Approved",
    "rejected": "Rejected",
    "edited": "Edited",
    "retested": "To be tested again",
    "stopped": "Run stopped",
    "banned": "Banned",
    "aliased": "Made another name",
    "withdrawn": "Withdrawn",
}

DECISION_TONE: dict[e.Decision, Tone] = {
    "approved": "good",
    "edited": "warn",
    "retested": "warn",
    "aliased": "normal",
    "withdrawn": "muted",
}


def scope_of(verdict: e.Verdict) -> str:
    """Return the limits of a verdict, and what it affects besides its build, in words."""
    parts = [" for this task only"] if (verdict.decision, verdict.lasting) == ("approved", "task") else []
    if verdict.grants is not None:
        parts.append(f" with {', '.join(verdict.grants.items) or 'no capability'}")
    if verdict.alias_of is not None:
        parts.append(f" of {verdict.alias_of.label}")
    if verdict.banned:
        parts.append(f" ({', '.join(verdict.banned)})")
    return "".join(parts)
