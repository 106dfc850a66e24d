"""Parses a plan that the model writes as `[x] step` into numbered steps with a status."""

from __future__ import annotations

import re
from collections.abc import Iterable

from alita_tui import events as e
from alita_tui.events import StepStatus

_MARKED = re.compile(
    r"\s*(?:[-*]\s+)?(?:\d+[.)]\s+)?(?:\[(?P<mark>.?)\]\s*)?(?:\d+[.)]\s+)?(?P<apart>\|\|\s*)?(?P<text>.*)",
    re.DOTALL,
)
_MARKS: dict[str, StepStatus] = {
    "x": "done", "✓": "done", "✔": "done", ">": "doing", "~": "doing", "/": "doing", "!": "failed", "✗": "failed",
    "-": "dropped",
}  # fmt: skip


PLAN = "/plan"
"""Prefix of a message by which the person changes the plan; the steps follow, in lines or separated by `;`."""


def from_person(text: str) -> tuple[str, ...] | None:
    """Return the steps that the person wrote; None for anything but a plan."""
    head, *body = text.strip().split(maxsplit=1)[:2] or [""]
    if head != PLAN:
        return None
    return tuple(step.strip() for step in re.split(r"[;\n]", "".join(body)) if step.strip())


def checklist(
    task_id: e.TaskId, lines: Iterable[str], previous: e.PlanProposed | None, recipe: str = ""
) -> e.PlanProposed:
    """Return the plan; a step that was in the previous plan keeps its number."""
    numbers = dict(zip(previous.steps, previous.ids, strict=False)) if previous else {}
    last = max(numbers.values(), default=0)
    steps: list[str] = []
    ids: list[int] = []
    status: list[StepStatus] = []
    apart = {number for number in previous.apart} if previous else set()
    for line in lines:
        match = _MARKED.fullmatch(line)
        text = (match["text"].strip() if match else "") or line.strip()
        number = numbers.pop(text, 0)
        if not number:
            number = last = last + 1
        if match and match["apart"]:
            apart.add(number)
        steps.append(text)
        ids.append(number)
        status.append(_MARKS.get((match["mark"] or "").lower(), "open") if match else "open")
    return e.PlanProposed(
        task_id=task_id, steps=tuple(steps), ids=tuple(ids), status=tuple(status), recipe=recipe,
        apart=tuple(number for number in ids if number in apart),
    )  # fmt: skip


def unmarked(steps: Iterable[str]) -> tuple[str, ...]:
    """Return the steps without the marks for steps that depend on no other."""
    return tuple(re.sub(r"^\s*\|\|\s*", "", step) for step in steps)
