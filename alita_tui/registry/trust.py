"""Trust in a tool from the outcomes of its runs: earned by use, lost by failures, corrections or disuse. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from alita_tui.events import Reliability, RunOutcome, Showing, ToolRecord, ToolState, Track, Value
from alita_tui.registry.stored import parsed_time
from alita_tui.spine.ranking import words
from alita_tui.spine.text import counted, one_line

QUERIES = 20
"""How many of the newest served queries are stored."""
OUTCOMES = 60
"""How many of the newest outcomes, and of the newest showings, are stored."""
_TRUST = 2
"""Number of different queries, and of answered tasks, that a tool needs to be trusted."""
_RECENT = 5
_DOUBT = 2
"""Number of failures among the last three runs that end trust."""
FAILING = 3
"""Number of failures in a row that make a tool stale."""
_IDLE = timedelta(days=90)
_HALF_LIFE = timedelta(days=30)
_PRIOR_GOOD, _PRIOR = 3.4, 4.0
"""The prior for a reviewed and approved tool: as after four runs of which 3.4 were good."""
RELIED_ON = 0.6
"""Reliability below which a tool is not trusted."""
_GOOD = {"ran": 0.3, "accepted": 1.0, "up": 2.0}
"""How much an outcome counts. A run without an exception is weak evidence."""
_BAD = {"failed": 1.0, "misfit": 1.0, "down": 2.0}
_RANK = {"ran": 0, "failed": 1, "misfit": 1, "accepted": 2, "up": 3, "down": 3}
"""Rank of an outcome: a higher one replaces a lower one; the person's rating replaces everything."""
_TEXT = 300


class Use(Value, frozen=True):
    """The run counts of one version."""

    name: str
    version: int
    runs: int = 0
    failures: int = 0
    queries: tuple[str, ...] = ()
    recent: tuple[bool, ...] = ()
    """Success of the last runs, newest last."""
    used_at: str = ""
    """ISO 8601, UTC."""
    worked_at: str = ""
    """Time of the last success; ISO 8601, UTC. Empty also for counts from before it was recorded."""

    def ran(self, *, ok: bool, query: str, at: datetime) -> Use:
        """Return the counts after one more run; on success the query counts as served."""
        learned, cleaned = self.queries, one_line(query, 300)
        if ok and words(cleaned) and _shape(cleaned) not in map(_shape, learned):
            learned = (*learned, str(cleaned))[-QUERIES:]
        return msgspec.structs.replace(
            self,
            runs=self.runs + 1,
            failures=self.failures + (not ok),
            queries=learned,
            recent=(*self.recent, ok)[-_RECENT:],
            used_at=at.isoformat(),
            worked_at=at.isoformat() if ok else self.worked_at,
        )

    def refused(self, at: datetime) -> Use:
        """Return the counts after a run that refused its input: it was used, and did neither well nor badly."""
        return msgspec.structs.replace(self, used_at=at.isoformat())

    @property
    def trusted(self) -> bool:
        """True if it served enough different queries, mostly well, and lately well."""
        doubted = self.recent[-3:].count(False) >= _DOUBT
        return len(self.queries) >= _TRUST and self.failures * 2 < self.runs and not doubted

    @property
    def failing(self) -> bool:
        """True if its last runs all failed."""
        return len(self.recent) >= FAILING and not any(self.recent[-FAILING:])


def with_outcomes(track: Track, outcomes: Iterable[RunOutcome], showings: Iterable[Showing] = ()) -> Track:
    """Return the record with new outcomes and showings added; those it already has change nothing."""
    runs = {outcome.run: outcome for outcome in track.outcomes}
    for outcome in outcomes:
        stored = runs.get(outcome.run)
        if stored is None or outcome.undone or _RANK[outcome.grade] >= _RANK[stored.grade]:
            text, at = one_line(outcome.text, _TEXT), stored.at if stored else outcome.at
            runs[outcome.run] = msgspec.structs.replace(outcome, at=at, text=str(text))
    needs = {showing.need: showing for showing in track.showings}
    for showing in showings:
        needs[showing.need] = msgspec.structs.replace(showing, query=str(one_line(showing.query, _TEXT)))
    return msgspec.structs.replace(
        track, outcomes=tuple(runs.values())[-OUTCOMES:], showings=tuple(needs.values())[-OUTCOMES:]
    )


def reliability(use: Use, track: Track | None, now: datetime) -> Reliability:
    """Return the expected success of the next run: the mean of a Beta distribution; older outcomes count less.

    For runs from before outcomes were stored, the counts are used instead.
    """
    outcomes = track.outcomes if track and track.outcomes else _before_outcomes(use)
    good_weight, total_weight = _PRIOR_GOOD, _PRIOR
    for outcome in outcomes:
        age = max(now - parsed_time(outcome.at, now), timedelta(0))
        weight = (_GOOD.get(outcome.grade, 0.0) + _BAD.get(outcome.grade, 0.0)) * 0.5 ** (age / _HALF_LIFE)
        weight *= outcome.share
        total_weight += weight
        good_weight += weight if outcome.grade in _GOOD else 0.0
    return Reliability(
        value=round(good_weight / total_weight, 4),
        words=f"{good_weight / total_weight:.2f}: {_outcome_words(outcomes, now)}",
        needs=_needs(track.showings) if track else "",
    )


def with_use(
    record: ToolRecord, use: Use | None, now: datetime, *, pinned: bool, track: Track | None = None
) -> ToolRecord:
    """Return a record with its run counts and the state that follows from them.

    A state that a person set (archived, revoked, quarantined) stays. A pinned version does not become stale
    by lying idle.
    """
    use = use or Use(name=record.draft.name, version=record.version)
    state = record.state
    if base(state) == "provisional":
        idle = not pinned and now - parsed_time(use.used_at or record.created_at, now) > _IDLE
        state = "stale" if use.failing or failing(track) or idle else "provisional"
        if state == "provisional" and use.trusted and _proven(use, track) and not doubted(use, track, now):
            state = "trusted"
    return msgspec.structs.replace(record, runs=use.runs, failures=use.failures, state=state)


def _proven(use: Use, track: Track | None) -> bool:
    """Return True if enough tasks were answered with it, or if most of its runs predate the recording of outcomes."""
    outcomes = track.outcomes if track else ()
    answered = {outcome.task for outcome in outcomes if outcome.grade in ("accepted", "up")}
    return len(answered) >= _TRUST or 2 * len(outcomes) < use.runs


def failing(track: Track | None) -> bool:
    """Return True if its last runs all failed, did not fit their schema or were found wrong."""
    recent = track.outcomes[-FAILING:] if track else ()
    return len(recent) == FAILING and all(outcome.grade in _BAD for outcome in recent)


def doubted(use: Use, track: Track | None, now: datetime) -> bool:
    """Return True if the outcomes of its runs are evidence against it, although no run failed."""
    if track is None or not track.outcomes:
        return False
    rated = [outcome for outcome in track.outcomes if outcome.grade in ("up", "down")]
    wrong_last = bool(rated) and rated[-1].grade == "down" and not _accepted_since(track, rated[-1])
    return wrong_last or reliability(use, track, now).value < RELIED_ON


def base(state: ToolState) -> ToolState:
    """Return the state as it is stored; trust follows from the runs and is not stored."""
    return "provisional" if state in ("trusted", "stale") else state


def _accepted_since(track: Track, wrong: RunOutcome) -> bool:
    """Return True if two tasks were answered with it since it was found wrong."""
    later = track.outcomes[track.outcomes.index(wrong) + 1 :]
    return len({outcome.task for outcome in later if outcome.grade in ("accepted", "up")}) >= _TRUST


def _before_outcomes(use: Use) -> tuple[RunOutcome, ...]:
    count = min(use.runs, _RECENT)
    failed = round(count * use.failures / use.runs) if use.runs else 0
    recent = use.recent or (False,) * failed + (True,) * (count - failed)
    return tuple(
        RunOutcome(run=str(number), at=use.used_at, grade="accepted" if ok else "failed")
        for number, ok in enumerate(recent)
    )


def _outcome_words(outcomes: tuple[RunOutcome, ...], now: datetime) -> str:
    """Return the outcomes in words: `9 good of 10 in 40 days, one 👎`."""
    # Withdrawn feedback about a build has no share.
    outcomes = tuple(outcome for outcome in outcomes if outcome.share)
    if not outcomes:
        return "no run yet, so what an approved tool is taken for"
    good = sum(outcome.grade in _GOOD for outcome in outcomes)
    days = (now - min(parsed_time(outcome.at, now) for outcome in outcomes)).days
    parts = [f"{good} good of {len(outcomes)}" + (f" in {counted(days, 'day')}" if days else " today")]
    for grade, word in (("up", "👍"), ("down", "👎"), ("misfit", "not as its schema says")):
        number = sum(outcome.grade == grade for outcome in outcomes)
        parts += [f"{'one' if number == 1 else number} {word}"] if number else []
    return ", ".join(parts)


def _needs(showings: tuple[Showing, ...]) -> str:
    """Return counts of its needs in words: `found for 5 needs, shown 4, used 2, accepted 1`."""
    if not showings:
        return ""
    counts = (("shown", "shown"), ("used", "used"), ("accepted", "accepted"))
    parts = [f"{word} {sum(getattr(showing, field) for showing in showings)}" for field, word in counts]
    return f"found for {counted(len(showings), 'need')}, {', '.join(parts)}"


def _shape(query: str) -> frozenset[str]:
    """Return the shape of a query: queries of one shape differ only in their data."""
    return frozenset(form for form, _ in words(query))
