"""Trust in a tool from its runs: earned by use, lost by failures or by lying idle. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from alita_tui.events import ToolRecord, ToolState, Value
from alita_tui.spine.ranking import words
from alita_tui.spine.text import one_line

QUERIES = 20
"""How many of the newest served queries are kept."""
_TRUST = 2
"""How many different queries a trusted tool has served."""
_RECENT = 5
_DOUBT = 2
"""How many failures among the last three runs end trust."""
FAILING = 3
"""How many failures in a row make a tool stale."""
_IDLE = timedelta(days=90)


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
    """The last success; ISO 8601, UTC. Empty also for what was counted before this was."""

    def ran(self, *, ok: bool, query: str, at: datetime) -> Use:
        """Return the counts after one more run; on success the query counts as served."""
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
            worked_at=at.isoformat() if ok else self.worked_at,
        )

    @property
    def trusted(self) -> bool:
        """True if it served enough different queries, mostly well, and lately well."""
        doubted = self.recent[-3:].count(False) >= _DOUBT
        return len(self.queries) >= _TRUST and self.failures * 2 < self.runs and not doubted

    @property
    def failing(self) -> bool:
        """True if its last runs all failed."""
        return len(self.recent) >= FAILING and not any(self.recent[-FAILING:])


def with_use(record: ToolRecord, use: Use | None, now: datetime, *, pinned: bool) -> ToolRecord:
    """Return a record with its run counts and the state that follows from them.

    A state that a person set (archived, revoked, quarantined) stays. A pinned version does not become stale
    by lying idle.
    """
    use = use or Use(name=record.draft.name, version=record.version)
    state = record.state
    if base(state) == "provisional":
        idle = not pinned and now - _when(use.used_at or record.created_at, now) > _IDLE
        state = "stale" if use.failing or idle else "trusted" if use.trusted else "provisional"
    return msgspec.structs.replace(record, runs=use.runs, failures=use.failures, state=state)


def base(state: ToolState) -> ToolState:
    """Return the state as it is stored; trust follows from the runs and is not stored."""
    return "provisional" if state in ("trusted", "stale") else state


def _when(text: str, otherwise: datetime) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return at if at.tzinfo else at.replace(tzinfo=otherwise.tzinfo)


def _shape(query: str) -> frozenset[str]:
    """Return the shape of a query: queries of one shape differ only in their data."""
    return frozenset(form for form, _ in words(query))
