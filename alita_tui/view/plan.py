"""A plan's steps with their ticks, and a question with its choices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from alita_tui.events import PlansWeighed, StepStatus
from alita_tui.spine.text import counted, one_line

TICKS: dict[StepStatus, str] = {"open": "○", "doing": "▸", "done": "✓", "failed": "✗", "dropped": "–"}

_MARKS: dict[StepStatus, str] = {"open": " ", "doing": ">", "done": "x", "failed": "!", "dropped": "-"}
"""As they are written; `agent.checklist` reads them."""
_SOURCES = {"agent": "the agent's own", "planner": "the planner's", "recipe": "the one from memory"}


def ticked(steps: Sequence[str], status: Sequence[StepStatus]) -> tuple[str, ...]:
    """Return the steps, each behind its tick; as they are while nothing is ticked."""
    if not {*status} - {"open"}:
        return tuple(steps)
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    return tuple(f"{TICKS[tick]} {step}" for step, tick in pairs)  # type: ignore[index]


def weighing(event: PlansWeighed) -> tuple[str, str]:
    """Return how plans were compared: in a line, and each with its steps and figures."""
    origin = _SOURCES[event.followed.source] if event.followed else "?"
    why = f"{one_line(event.because)} failed; " if event.because else ""
    headline = f"{why}{counted(len(event.candidates), 'plan')} weighed: {origin} is followed"
    lines = []
    for place, plan in enumerate(event.candidates):
        record = f"worked {plan.worked} of {plan.tried}" if plan.tried else "never tried"
        figures = f"worth {plan.value:.2f}: {record}, tools {plan.reliability:.2f}, fit {plan.fit:.2f}"
        lines.append(f"{'▸' if place == event.chosen else ' '} {_SOURCES[plan.source]}, {figures}")
        lines += [f"    {number}. {step}" for number, step in enumerate(plan.steps, 1)]
        if plan.tools:
            lines.append(f"    with {', '.join(plan.tools)}")
    return headline, "\n".join(lines)


def editable(steps: Sequence[str], status: Sequence[StepStatus]) -> str:
    """Return the plan as the person can change and send it: `/plan`, then a step in each line behind its mark."""
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    return "\n".join(("/plan", *(f"[{_MARKS[mark]}] {one_line(step)}" for step, mark in pairs)))  # type: ignore[index]


def offered(question: str, choices: Sequence[str]) -> str:
    """Return a question with its numbered choices."""
    if not choices:
        return question
    return f"{question} ({', '.join(f'{n}: {choice}' for n, choice in enumerate(choices, 1))})"
