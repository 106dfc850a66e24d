"""What a library learns from its searches: the needs a tool has met, and the calibration of probabilities. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from alita_tui.events import Track
from alita_tui.registry.stored import parsed_time
from alita_tui.registry.trust import OUTCOMES, QUERIES, Use
from alita_tui.spine.ranking import Calibration, Served, calibrated

History = tuple[tuple[Use | None, Track | None], ...]
"""Counts and outcomes of a tool's versions, oldest first."""

_AGES = ((30, 1.0), (90, 0.9), (180, 0.8), (365, 0.65))
"""Weight of a need up to an age in days, in steps, so that an index does not change every day."""
_OLDEST = 0.5
_UNKNOWN = 0.5
"""Weight of a query whose task has no recorded outcome."""
_UP = 1.5
"""Weight of a need whose answer the person rated as good."""
_SEARCHES = 500
"""How many of the newest searches are used for calibration."""


def served(versions: History, now: datetime) -> tuple[Served, ...]:
    """Return the newest needs that a tool's versions, oldest first, have met.

    A need is what was searched for, or the part of the task, where the task was answered with the tool.
    Answers that the person rejected are left out.
    """
    needs: dict[str, Served] = {}
    for use, track in versions:
        for query in _before_outcomes(use, track):
            needs.setdefault(query, Served(query=query, weight=_UNKNOWN))
        if track is None:
            continue
        answered = [(showing.at, showing.query, 1.0) for showing in track.showings if showing.accepted]
        answered += [
            (outcome.at, outcome.asked, _UP if outcome.grade == "up" else 1.0)
            for outcome in track.outcomes
            if outcome.asked and outcome.grade in ("accepted", "up")
        ]
        for at, query, weight in sorted(answered):
            needs.pop(query, None)  # the newest last
            needs[query] = Served(query=query, weight=weight * _weight_by_age(at, now))
    return tuple(needs.values())[-QUERIES:]


def calibration(tracks: Iterable[Track]) -> Calibration:
    """Return the calibration of search probabilities in this library."""
    searches = {
        showing.need: (showing.at, showing.prior, showing.met)
        for track in tracks
        for showing in track.showings
        # A tool that was used in a task without an answer is no evidence either way.
        if showing.prior and (showing.met or not showing.used)
    }
    newest = sorted(searches.values())[-_SEARCHES:]
    return calibrated([(chance, met) for _, chance, met in newest])


def _before_outcomes(use: Use | None, track: Track | None) -> tuple[str, ...]:
    """Return the queries that were served before outcomes were stored."""
    if use is None:
        return ()
    stored = len(track.outcomes) if track else 0
    return use.queries[: max(0, use.runs - stored)] if stored < OUTCOMES else ()


def _weight_by_age(timestamp: str, now: datetime) -> float:
    days = (now - parsed_time(timestamp, datetime.min.replace(tzinfo=now.tzinfo))).days
    return next((weight for limit, weight in _AGES if days <= limit), _OLDEST)
