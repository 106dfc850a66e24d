"""What a finished task leaves in memory, taken from verified events only.

A task teaches if it was answered and a tool of the library returned a result on the way. Recalled, searched or stated
text is never learned from, so a mistake cannot confirm itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from alita_tui.events import (
    BudgetSpent,
    MemoryItem,
    TaskFinished,
    TaskSubmitted,
    ToolCalled,
    ToolReturned,
    Value,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import between, of
from alita_tui.spine.text import one_line

_TASK, _ANSWER = 300, 400
"""Characters kept of a task and of an answer."""

FOOTNOTE = " (tools: "
"""Separates what an episode adds to task and answer; what follows is not searched."""


class _Course(Value, frozen=True):
    """How a task went."""

    session_id: str
    seq: int
    """Of the event that ended it."""
    task: str
    answer: str
    tools: tuple[str, ...]
    """Tools that returned a result, in order; repeated calls of one tool count once."""
    cost_usd: float
    unpriced: bool


def episode(envelopes: Sequence[Envelope], task_id: str) -> tuple[MemoryItem, ...]:
    """Return the task, its answer in short, its tools and its cost; nothing for a task that teaches nothing."""
    course = _course(envelopes, task_id)
    if course is None:
        return ()
    cost = f"${course.cost_usd:.4f}" + (" and calls without a known price" if course.unpriced else "")
    text = f"{course.task} → {course.answer}{FOOTNOTE}{', '.join(course.tools)}; cost: {cost})"
    return (_item(course, "episodic", f"episode:{course.session_id}:{task_id}", text),)


def recipe(envelopes: Sequence[Envelope], task_id: str) -> tuple[MemoryItem, ...]:
    """Return the chain of tools that answered the task; the same chain always gets the same id."""
    course = _course(envelopes, task_id)
    if course is None:
        return ()
    name = sha256("\n".join(course.tools).encode()).hexdigest()[:16]
    return (_item(course, "procedural", f"recipe:{name}", course.task),)


def _item(course: _Course, memory: str, item_id: str, text: str) -> MemoryItem:
    bare = MemoryItem(
        item_id=item_id,
        memory="episodic",
        text=text,
        source_session=course.session_id,
        source_seq=course.seq,
        tools=course.tools,
    )
    return bare if memory == "episodic" else msgspec.structs.replace(bare, memory="procedural")


def _course(envelopes: Sequence[Envelope], task_id: str) -> _Course | None:
    """Return what one task did, or None for a task that teaches nothing."""
    ours = _events_of(envelopes, task_id)
    last = ours[-1].event if ours else None
    asked = next(
        (
            envelope.event.text
            for envelope in of(envelopes, TaskSubmitted)
            if isinstance(envelope.event, TaskSubmitted) and envelope.event.task_id == task_id
        ),
        "",
    )
    tools = _tools(ours)
    if not isinstance(last, TaskFinished) or last.outcome != "answered" or not tools or not asked:
        return None
    spent = [envelope.event.cost_usd for envelope in ours if isinstance(envelope.event, BudgetSpent)]
    return _Course(
        session_id=ours[-1].session_id,
        seq=ours[-1].seq or 0,
        task=one_line(asked, _TASK),
        answer=one_line(last.answer, _ANSWER),
        tools=tools,
        cost_usd=sum(cost for cost in spent if cost is not None),
        unpriced=None in spent,
    )


def _events_of(envelopes: Sequence[Envelope], task_id: str) -> list[Envelope]:
    """Return the events of one task up to its last end.

    In schema 1 tasks ran one at a time: what lies between two ends belongs to the later one.
    """
    first, previous_end = None, 0
    spans: list[tuple[int, int]] = []
    for envelope in of(envelopes, TaskSubmitted, TaskFinished):
        seq, event = envelope.seq or 0, envelope.event
        if isinstance(event, TaskFinished):
            if event.task_id == task_id:
                spans.append((previous_end, seq))
            previous_end = seq
        elif isinstance(event, TaskSubmitted) and event.task_id == task_id:
            first = seq - 1
    if first is None or not spans:
        return []
    return [
        envelope
        for envelope in between(envelopes, min(first, spans[0][0]), spans[-1][1])
        if envelope.task_id == task_id
        or (
            envelope.schema_version == 1 and any(after < (envelope.seq or 0) <= upto for after, upto in spans)
        )
    ]


def _tools(envelopes: list[Envelope]) -> tuple[str, ...]:
    called: dict[str, str] = {}
    chain: list[str] = []
    for envelope in envelopes:
        match envelope.event:
            case ToolCalled(call_id=call_id, name=name, depth=0):
                called[call_id] = name
            case ToolReturned(call_id=call_id, report=report) if report.status == "ok" and call_id in called:
                if chain[-1:] != [called[call_id]]:
                    chain.append(called[call_id])
            case _:
                pass
    return tuple(chain)
