"""A plan's steps with their ticks, and a question with its choices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from alita_tui.events import StepStatus
from alita_tui.spine.text import one_line

TICKS: dict[StepStatus, str] = {"open": "○", "doing": "▸", "done": "✓", "failed": "✗", "dropped": "–"}

_MARKS: dict[StepStatus, str] = {"open": " ", "doing": ">", "done": "x", "failed": "!", "dropped": "-"}
"""As they are written; `agent.checklist` reads them."""


def ticked(steps: Sequence[str], status: Sequence[StepStatus]) -> tuple[str, ...]:
    """Return the steps, each behind its tick; as they are while nothing is ticked."""
    if not {*status} - {"open"}:
        return tuple(steps)
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    return tuple(f"{TICKS[tick]} {step}" for step, tick in pairs)  # type: ignore[index]


def editable(steps: Sequence[str], status: Sequence[StepStatus]) -> str:
    """Return the plan as the person can change and send it: `/plan`, then a step in each line behind its mark."""
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    return "\n".join(("/plan", *(f"[{_MARKS[mark]}] {one_line(step)}" for step, mark in pairs)))  # type: ignore[index]


def offered(question: str, choices: Sequence[str]) -> str:
    """Return a question with its numbered choices."""
    if not choices:
        return question
    return f"{question} ({', '.join(f'{n}: {choice}' for n, choice in enumerate(choices, 1))})"
