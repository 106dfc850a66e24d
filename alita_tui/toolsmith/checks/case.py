"""A draft under check, and how a check reports its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Literal, Protocol, TypeVar

import msgspec

from alita_tui.events import (
    BuildId,
    GateName,
    GateResult,
    GateRow,
    GateState,
    Json,
    Lock,
    ToolDraft,
    Value,
)
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line

T = TypeVar("T")
Tone = Literal["", "good", "warn", "bad", "muted"]


class Case(Value, frozen=True):
    """A draft that passed its own tests."""

    build_id: BuildId
    draft: ToolDraft
    lock: Lock = Lock()
    task: str = ""
    """What the person asked for, in their words."""
    goal: str = ""
    parent: ToolDraft | None = None
    """The version that this one would replace."""
    examples: tuple[Json, ...] = ()
    """Examples of the order, each `{"input": ARGUMENTS, "output": RESULT}`."""


class Check(Protocol):
    """Gathers one kind of evidence about a draft."""

    name: GateName

    async def check(self, case: Case) -> GateResult:
        """Return what was observed. Raises CouldNotRun with the reason if the check cannot run."""


class CouldNotRun(AlitaError):
    """A check could not run, or not far enough; this does not count as passed."""

    def __init__(self, message: str, rows: Sequence[GateRow] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)
        """What it observed until then."""


async def both_results(first: Awaitable[T], second: Awaitable[T]) -> tuple[T | CouldNotRun, T | CouldNotRun]:
    """Return both results, or why one could not run, once both have ended."""
    first_result, second_result = await asyncio.gather(first, second, return_exceptions=True)
    return _or_raise(first_result), _or_raise(second_result)


def _or_raise(result: T | BaseException) -> T | CouldNotRun:
    if isinstance(result, BaseException) and not isinstance(result, CouldNotRun):
        raise result
    return result


def evidence(label: str, text: str, tone: Tone = "", line: int = 0) -> GateRow:
    """Return one line of what a check observed; `line` is the line of the code that it is about."""
    return GateRow(label=label, text=text, tone=tone, line=line)


NOT_COUNTED = (0, 0)


def passed(
    gate: GateName, summary: str, rows: Sequence[GateRow] = (), figures: tuple[int, int] = NOT_COUNTED
) -> GateResult:
    """Return the result of a check that found nothing against the draft; `figures` are `good` and `tried`."""
    return _result(gate, "passed", summary, rows, figures)


def failed(
    gate: GateName, summary: str, rows: Sequence[GateRow] = (), figures: tuple[int, int] = NOT_COUNTED
) -> GateResult:
    """Return the result of a check that found something against the draft; `figures` are `good` and `tried`."""
    return _result(gate, "failed", summary, rows, figures)


def _result(
    gate: GateName, state: GateState, summary: str, rows: Sequence[GateRow], figures: tuple[int, int]
) -> GateResult:
    good, tried = figures
    summary = one_line(summary, 300)
    return GateResult(gate=gate, state=state, summary=summary, rows=tuple(rows), good=good, tried=tried)


def brief_json(value: Json, most: int = 120) -> str:
    """Return a JSON value on one line, shortened."""
    return one_line(msgspec.json.encode(value).decode(), most)
