"""Why a case was not solved, read from its record alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from alita_tui import events as e
from alita_tui.evaluation.results import FailureKind
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import one_line

_OUTCOMES: Mapping[str, FailureKind] = {
    "budget": "budget",
    "sandbox": "sandbox",
    "stuck": "loop",
    "step_limit": "loop",
    "rejected": "approval",
    "parked": "approval",
    "interrupted": "harness",
}
_ENDED_BY: tuple[FailureKind, ...] = ("sandbox", "missing tool", "approval", "tool failed", "malformed call")
"""Kinds that may explain a wrong answer, the surest first."""


def failure(history: Sequence[Envelope], accepted: Collection[str] = ()) -> tuple[FailureKind, int]:
    """Return why a case was not solved, and the number of the event where it went wrong.

    `accepted`: calls whose result is in the answer.
    """
    last: dict[FailureKind, int] = {}
    finished, end = None, 0
    for envelope in history:
        kind, shown = _sign(envelope.event)
        if kind and shown:
            last[kind] = envelope.seq or 0
        elif kind:
            last.pop(kind, None)
        if isinstance(envelope.event, e.TaskFinished):
            finished, end = envelope.event, envelope.seq or 0
    if finished is None:
        return "harness", end
    kind = _OUTCOMES.get(finished.outcome, "")
    if kind == "approval" and last.get("question", 0) > last.get("approval", 0):
        kind = "question"  # what came last is what it waits for
    if not kind and finished.outcome == "failed":
        kind = "provider" if "provider" in last else "sandbox" if "sandbox" in last else ""
    kind = kind or next((cause for cause in _ENDED_BY if cause in last), "")
    if kind:
        return kind, last.get(kind, end)
    return _of_answer(history, finished, end, accepted)


def question_at(history: Sequence[Envelope], at: int) -> str:
    """Return the question that was asked in an event, as the reason of a failure."""
    texts = (
        envelope.event.text
        for envelope in history
        if envelope.seq == at and isinstance(envelope.event, e.QuestionAsked)
    )
    return f"“{one_line(next(texts, ''), 300)}”"


def not_found(history: Sequence[Envelope], tool: str) -> tuple[FailureKind, int]:
    """Return why a tool was not named, and the event: no search listed it, or one did and another was chosen."""
    at = 0
    for envelope in history:
        if isinstance(envelope.event, e.ToolSearched):
            at = envelope.seq or 0
            named = {str(hit.card.name) for hit in envelope.event.hits} | {
                miss.name for miss in envelope.event.near_misses
            }
            if tool in named:
                return "misread task", at
    return "not found", at


def _of_answer(
    history: Sequence[Envelope], finished: e.TaskFinished, end: int, accepted: Collection[str]
) -> tuple[FailureKind, int]:
    """Return why an answer is wrong although no step failed, and the event that shows it."""
    if finished.ungrounded:
        return "ungrounded answer", end
    if at := _misjudged(history):
        return "gap misjudged", at
    ran = [
        envelope.seq or 0
        for envelope in history
        if isinstance(envelope.event, e.ToolReturned) and envelope.event.call_id in accepted
    ]
    return ("wrong tool", ran[-1]) if ran else ("misread task", end)


def _misjudged(history: Sequence[Envelope]) -> int:
    """Return the event at which a gap in the library was misjudged; 0 where none was.

    Either a tool was built though the library surely had one, or none was built or run though the library had none.
    """
    searched, missing = None, 0
    for envelope in history:
        match envelope.event:
            case e.ToolSearched(band=band):
                searched, missing = envelope.event, (envelope.seq or 0) if band in ("none", "perhaps") else 0
            case e.BuildStarted():
                if searched is not None and searched.band == "fits":
                    return envelope.seq or 0
                missing = 0
            case e.ToolCalled():
                missing = 0
            case _:
                pass
    return missing


def _sign(event: e.SessionEvent) -> tuple[FailureKind, bool]:
    """Return the kind of failure that an event is about, and whether it shows (True) or clears it (False)."""
    match event:
        case e.ToolFailed(reason=reason):
            return ("sandbox" if reason == "sandbox" else "tool failed"), True
        case e.ToolReturned(misfit=misfit):
            return "tool failed", bool(misfit)
        case e.ActionMalformed():
            return "malformed call", True
        case e.ActionChosen():
            return "malformed call", False
        case _:
            return _sign_of_build(event)


def _sign_of_build(event: e.SessionEvent) -> tuple[FailureKind, bool]:
    match event:
        case e.BuildFailed():
            return "missing tool", True
        case e.ToolRegistered():
            return "missing tool", False
        case e.ModelFailed():
            return "provider", True
        case e.ModelReplied():
            return "provider", False
        case e.ApprovalRequested():
            return "approval", True
        case e.ApprovalResolved(verdict=verdict):
            return "approval", verdict.decision != "approved"
        case e.QuestionAsked(about="task"):
            return "question", True
        case e.QuestionAnswered():
            return "question", False
        case _:
            return "", False
