"""A plan's steps with their ticks, and a question with its choices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from alita_tui.events import PlansWeighed, StepStatus, TaskOutcome
from alita_tui.spine.text import counted, one_line

TICKS: dict[StepStatus, str] = {"open": "○", "doing": "▸", "done": "✓", "failed": "✗", "dropped": "–"}

_MARKS: dict[StepStatus, str] = {"open": " ", "doing": ">", "done": "x", "failed": "!", "dropped": "-"}
"""Marks in an editable plan; `agent.checklist` reads them."""
_SOURCES = {"agent": "the agent's own", "planner": "the planner's", "recipe": "the one from memory"}


def ticked(steps: Sequence[str], status: Sequence[StepStatus]) -> tuple[str, ...]:
    """Return the steps, each behind its tick; unchanged if no step has one."""
    if not {*status} - {"open"}:
        return tuple(steps)
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    return tuple(f"{TICKS[tick]} {step}" for step, tick in pairs)  # type: ignore[index]


def unticked(steps: Sequence[str], status: Sequence[StepStatus], outcome: TaskOutcome | None) -> str:
    """Return what the ticks of a plan leave open, in words; empty if they leave nothing open.

    Only the agent and the person tick: what a tool did is not taken for a step, because a step is free text.
    `outcome`: how the task ended; None while it runs.
    """
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    left = sum(tick == "open" for _step, tick in pairs)
    if not left or outcome in ("parked", "budget"):
        return ""
    if outcome is None:
        return "No step is ticked yet: the agent does that." if left == len(steps) else ""
    if outcome == "answered":
        return f"Answered. The agent did not tick {counted(left, 'step')}, whether done or not needed."
    return f"The task ended with {counted(left, 'step')} open."


def weighing(event: PlansWeighed) -> tuple[str, str]:
    """Return the comparison of plans: one line, and the details of each plan with its steps and figures."""
    origin = _SOURCES[event.followed.source] if event.followed else "?"
    reason = f"{one_line(event.because)} failed; " if event.because else ""
    headline = f"{reason}{counted(len(event.candidates), 'plan')} weighed: {origin} is followed"
    lines = []
    for index, plan in enumerate(event.candidates):
        record = f"worked or liked {plan.worked} of {plan.tried}" if plan.tried else "never tried"
        figures = f"worth {plan.value:.2f}: {record}, tools {plan.reliability:.2f}, fit {plan.fit:.2f}"
        lines.append(f"{'▸' if index == event.chosen else ' '} {_SOURCES[plan.source]}, {figures}")
        lines += [f"    {number}. {step}" for number, step in enumerate(plan.steps, 1)]
        if plan.tools:
            lines.append(f"    with {', '.join(plan.tools)}")
    return headline, "\n".join(lines)


def editable(steps: Sequence[str], status: Sequence[StepStatus]) -> str:
    """Return the plan in the form in which the person can edit and send it: `/plan`, then a marked step per line."""
    pairs = zip_longest(steps, status[: len(steps)], fillvalue="open")
    return "\n".join(("/plan", *(f"[{_MARKS[mark]}] {one_line(step)}" for step, mark in pairs)))  # type: ignore[index]


def offered(question: str, choices: Sequence[str]) -> str:
    """Return a question with its numbered choices."""
    if not choices:
        return question
    return f"{question} ({', '.join(f'{n}: {choice}' for n, choice in enumerate(choices, 1))})"
