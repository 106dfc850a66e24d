"""Why a case was not solved, derived from its record alone."""

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
"""Kinds of failure that can explain a wrong answer, most certain first."""


def failure(history: Sequence[Envelope], accepted: Collection[str] = ()) -> tuple[FailureKind, int]:
    """Return why a case was not solved, and the number of the event that shows it.

    `accepted` are the ids of calls whose result is in the answer.
    """
    newest: dict[FailureKind, int] = {}
    finished, end = None, 0
    for envelope in history:
        kind, occurs = _evidence(envelope.event)
        if kind and occurs:
            newest[kind] = envelope.seq or 0
        elif kind:
            newest.pop(kind, None)
        if isinstance(envelope.event, e.TaskFinished):
            finished, end = envelope.event, envelope.seq or 0
    if finished is None:
        return "harness", end
    kind = _OUTCOMES.get(finished.outcome, "")
    if kind == "approval" and newest.get("question", 0) > newest.get("approval", 0):
        kind = "question"  # the task waits for the newer of the two
    if not kind and finished.outcome == "failed":
        kind = "provider" if "provider" in newest else "sandbox" if "sandbox" in newest else ""
    kind = kind or next((cause for cause in _ENDED_BY if cause in newest), "")
    if kind:
        return kind, newest.get(kind, end)
    return _failure_of_answer(history, finished, end, accepted)


def question_at(history: Sequence[Envelope], seq: int) -> str:
    """Return the question of an event, as the reason of a failure."""
    texts = (
        envelope.event.text
        for envelope in history
        if envelope.seq == seq and isinstance(envelope.event, e.QuestionAsked)
    )
    return f"“{one_line(next(texts, ''), 300)}”"


def not_found(history: Sequence[Envelope], tool: str) -> tuple[FailureKind, int]:
    """Return why a tool was not named, and the event: no search listed it, or another tool was chosen."""
    newest_search = 0
    for envelope in history:
        if isinstance(envelope.event, e.ToolSearched):
            newest_search = envelope.seq or 0
            listed = {str(hit.card.name) for hit in envelope.event.hits} | {
                miss.name for miss in envelope.event.near_misses
            }
            if tool in listed:
                return "misread task", newest_search
    return "not found", newest_search


def _failure_of_answer(
    history: Sequence[Envelope], finished: e.TaskFinished, end: int, accepted: Collection[str]
) -> tuple[FailureKind, int]:
    """Return why an answer is wrong although no step failed, and the event that shows it."""
    if finished.ungrounded:
        return "ungrounded answer", end
    if misjudged_at := _misjudged(history):
        return "gap misjudged", misjudged_at
    ran = [
        envelope.seq or 0
        for envelope in history
        if isinstance(envelope.event, e.ToolReturned) and envelope.event.call_id in accepted
    ]
    return ("wrong tool", ran[-1]) if ran else ("misread task", end)


def _misjudged(history: Sequence[Envelope]) -> int:
    """Return the number of the event at which a gap in the library was misjudged; 0 for none.

    Either a tool was built although a search said that one fits, or none was built or run although it found none.
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


def _evidence(event: e.SessionEvent) -> tuple[FailureKind, bool]:
    """Return the kind of failure that an event is about, and True if the failure occurs, False if it is overcome."""
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
            return _evidence_of_build(event)


def _evidence_of_build(event: e.SessionEvent) -> tuple[FailureKind, bool]:
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
