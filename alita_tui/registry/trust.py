"""How far a tool is relied on, from how its runs went: earned by use, lost by failing or by lying idle. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from alita_tui.spine.ranking import words
from alita_tui.spine.text import one_line
from alita_tui.spine.values import ToolRecord, ToolState, Value

QUERIES = 20
"""Queries that a tool remembers having served, the newest."""
_TRUST = 2
"""Different queries that a tool has to serve to be trusted."""
_RECENT = 5
_DOUBT = 2
"""Failures among the last three runs that end trust."""
FAILING = 3
"""Failures in a row after which a tool is not relied on any more."""
_IDLE = timedelta(days=90)


class Use(Value, frozen=True):
    """How one version did."""

    name: str
    version: int
    runs: int = 0
    failures: int = 0
    queries: tuple[str, ...] = ()
    recent: tuple[bool, ...] = ()
    """Whether the last runs went well, the newest last."""
    used_at: str = ""
    """ISO 8601, UTC."""

    def ran(self, *, ok: bool, query: str, at: datetime) -> Use:
        """The same after one more run; on success the query counts as served."""
        learned, asked = self.queries, one_line(query, 300)
        if ok and words(asked) and _shape(asked) not in map(_shape, learned):
            learned = (*learned, str(asked))[-QUERIES:]
        return msgspec.structs.replace(
            self,
            runs=self.runs + 1,
            failures=self.failures + (not ok),
            queries=learned,
            recent=(*self.recent, ok)[-_RECENT:],
            used_at=at.isoformat(),
        )

    @property
    def trusted(self) -> bool:
        """Whether it served enough different queries, mostly well, and of late too."""
        doubted = self.recent[-3:].count(False) >= _DOUBT
        return len(self.queries) >= _TRUST and self.failures * 2 < self.runs and not doubted

    @property
    def failing(self) -> bool:
        """Whether its last runs all failed."""
        return len(self.recent) >= FAILING and not any(self.recent[-FAILING:])


def with_use(record: ToolRecord, use: Use | None, now: datetime, *, pinned: bool) -> ToolRecord:
    """A record with its runs, and the state that they make of an approved tool.

    What a person set (archived, revoked, quarantined) stays; a pinned version does not become stale by
    lying idle.
    """
    use = use or Use(name=record.draft.name, version=record.version)
    state = record.state
    if base(state) == "provisional":
        idle = not pinned and now - _when(use.used_at or record.created_at, now) > _IDLE
        state = "stale" if use.failing or idle else "trusted" if use.trusted else "provisional"
    return msgspec.structs.replace(record, runs=use.runs, failures=use.failures, state=state)


def base(state: ToolState) -> ToolState:
    """The state as it is stored: how far an approved tool is relied on follows from its runs."""
    return "provisional" if state in ("trusted", "stale") else state


def _when(text: str, otherwise: datetime) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return found if found.tzinfo else found.replace(tzinfo=otherwise.tzinfo)


def _shape(query: str) -> frozenset[str]:
    """Two queries of the same shape are one: they differ in their data only."""
    return frozenset(form for form, _ in words(query))
