"""Conditions at which a replay stops: `error`, `approval`, `build`, `answer`, `tool=NAME`, `cost>X`, any number."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, get_args

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line
from alita_tui.view.queries import Mark, mark

_TOOL = re.compile(r"tool=(\S+)")
_COST = re.compile(r"cost>\$?(\d+(?:\.\d*)?|\.\d+)")
HINT = "Write error, approval, build, answer, tool=NAME or cost>0.10; several with blanks between them."


class Breakpoint(NamedTuple):
    """One condition."""

    text: str
    """The condition as written."""
    holds: Callable[[Envelope], bool]
    """Returns True for an event that meets it."""


def breakpoints(text: str) -> tuple[Breakpoint, ...]:
    """Return the conditions in a text; empty for none. Raises UsageError for an invalid one."""
    return tuple(Breakpoint(condition, _condition(condition)) for condition in text.replace(",", " ").split())


def stopped_by(points: tuple[Breakpoint, ...], envelope: Envelope) -> str:
    """Return the text of the first condition that an event meets, or an empty string."""
    return next((point.text for point in points if point.holds(envelope)), "")


def _condition(condition: str) -> Callable[[Envelope], bool]:
    kinds: tuple[Mark, ...] = get_args(Mark)
    if condition in kinds:
        return lambda envelope: mark(envelope) == condition
    if match := _TOOL.fullmatch(condition):
        name = match[1]
        return lambda envelope: _touches(envelope.event, name)
    if match := _COST.fullmatch(condition):
        usd = float(match[1])
        return lambda envelope: _crosses(envelope.event, usd)
    raise UsageError(f"{one_line(condition, 40)!r} is not a breakpoint.", hint=HINT)


def _touches(event: e.SessionEvent, name: str) -> bool:
    match event:
        case e.ToolCalled() | e.BuildStarted() | e.ApprovalRequested():
            return event.name == name
        case e.ToolRegistered(card=card):
            return card.name == name
        case _:
            return False


def _crosses(event: e.SessionEvent, usd: float) -> bool:
    """Return True for the one call that took the session's spend above the sum."""
    if not isinstance(event, e.BudgetSpent):
        return False
    return event.total_usd - (event.cost_usd or 0.0) <= usd < event.total_usd
