"""Compares two sessions: their common beginning and what differs after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import SafeText, counted, one_line
from alita_tui.view.fold import fold_all
from alita_tui.view.queries import mark
from alita_tui.view.spend import settled_calls, settled_tokens
from alita_tui.view.statistics import dollars
from alita_tui.view.trace import rows_for

_MOVES = frozenset({"task", "action", "approval", "run", "question", "error", "answer"})


class Side(msgspec.Struct, frozen=True):
    """Figures of one session."""

    session_id: str
    title: SafeText
    started: datetime | None
    seconds: float
    """Time from the first event to the last."""
    steps: int
    """Number of actions that the model chose."""
    calls: int
    """Number of model calls, those that failed among them."""
    tokens: int
    """As they were settled, like those of the spend screen."""
    cost_usd: float
    built: tuple[str, ...]
    """Tools that joined the library."""
    used: tuple[tuple[str, int], ...]
    """Tools that ran, and how often."""
    errors: int
    outcome: str
    """Outcome of the last task; empty if there is none or it is running."""
    answer: SafeText
    estimated_tokens: int = 0
    """Those of the tokens that are estimated, because the provider reported none."""
    unpriced_calls: int = 0
    """Calls without a known price; the cost has what `budget.unknown_usd` assumes for them."""


class Pair(msgspec.Struct, frozen=True):
    """A move of both sessions, or of one; then the other side is empty."""

    kind: Literal["same", "differs", "left", "right"]
    left: SafeText = SafeText("")
    right: SafeText = SafeText("")


class Comparison(msgspec.Struct, frozen=True):
    """Both sessions, with their moves aligned."""

    left: Side
    right: Side
    common: int
    """Number of events with which both begin."""
    moves: tuple[Pair, ...]


def compare(left: Sequence[Envelope], right: Sequence[Envelope]) -> Comparison:
    """Return two sessions side by side."""
    return Comparison(
        left=_side(left), right=_side(right), common=_common(left, right), moves=_moves(left, right)
    )


def cost_of(side: Side) -> str:
    """Return what a session cost; with the number of calls whose price was assumed."""
    if not side.unpriced_calls:
        return dollars(side.cost_usd)
    about = "about " if side.cost_usd else ""
    return f"{about}{dollars(side.cost_usd)}, {counted(side.unpriced_calls, 'call')} without a known price"


def _side(envelopes: Sequence[Envelope]) -> Side:
    view = fold_all(envelopes)
    events = [envelope.event for envelope in envelopes]
    used: dict[str, int] = {}
    for event in events:
        if isinstance(event, e.ToolCalled):
            used[event.name] = used.get(event.name, 0) + 1
    task = view.task
    return Side(
        session_id=view.session_id,
        title=view.title,
        started=envelopes[0].at if envelopes else None,
        seconds=max(0.0, (envelopes[-1].at - envelopes[0].at).total_seconds()) if envelopes else 0.0,
        steps=sum(isinstance(event, e.ActionChosen) for event in events),
        calls=settled_calls(view.spend),
        tokens=settled_tokens(view.spend),
        cost_usd=view.spend.total_usd,
        built=tuple(one_line(event.card.name) for event in events if isinstance(event, e.ToolRegistered)),
        used=tuple((one_line(name), times) for name, times in used.items()),
        errors=sum(mark(envelope) == "error" for envelope in envelopes),
        outcome=task.outcome or "" if task else "",
        answer=(task.answer or task.reason) if task else SafeText(""),
        estimated_tokens=view.spend.estimated_tokens,
        unpriced_calls=view.spend.unpriced_calls,
    )


def _common(left: Sequence[Envelope], right: Sequence[Envelope]) -> int:
    """Return the number of events with which both begin, ignoring ids that a fork assigns anew."""
    count = 0
    for left_envelope, right_envelope in zip(left, right, strict=False):
        if left_envelope.at != right_envelope.at or not _alike(left_envelope.event, right_envelope.event):
            break
        count += 1
    return count


def _alike(ours: e.SessionEvent, theirs: e.SessionEvent) -> bool:
    match ours, theirs:
        case (e.SessionOpened(), e.SessionOpened()):
            return True
        case (e.ApprovalRequested(digest=digest), e.ApprovalRequested(digest=another)):
            return digest == another
        case _:
            return ours == theirs


def _moves(left: Sequence[Envelope], right: Sequence[Envelope]) -> tuple[Pair, ...]:
    left_titles, right_titles = list(_titles(left)), list(_titles(right))
    pairs: list[Pair] = []
    for tag, a, b, c, d in SequenceMatcher(None, left_titles, right_titles, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += (Pair("same", title, title) for title in left_titles[a:b])
            continue
        paired = min(b - a, d - c)
        pairs += (
            Pair("differs", title, right_title)
            for title, right_title in zip(
                left_titles[a : a + paired], right_titles[c : c + paired], strict=True
            )
        )
        pairs += (Pair("left", left=title) for title in left_titles[a + paired : b])
        pairs += (Pair("right", right=title) for title in right_titles[c + paired : d])
    return tuple(pairs)


def _titles(envelopes: Iterable[Envelope]) -> Iterable[SafeText]:
    for envelope in envelopes:
        yield from (row.title for row in rows_for(envelope) if row.kind in _MOVES)
        if isinstance(envelope.event, e.ToolRegistered):
            yield from (row.title for row in rows_for(envelope))
