"""Records which proposals were built and when, so that none is built again soon, and only a few per day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from alita_tui.events import Value
from alita_tui.registry.stored import parsed_time, stored
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.stream import Clock

_AGAIN = timedelta(days=30)
"""Time after which an unsuccessful proposal may be made again."""


class _Built(Value, frozen=True):
    proposal_id: str
    at: str
    """ISO 8601, UTC."""
    session_id: str = ""


class Proposed:
    """The proposals in the registry's documents."""

    def __init__(self, documents: Documents, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self._documents = documents
        self._clock = clock

    def lately(self, proposal_id: str) -> bool:
        """Return True if it was built within the last 30 days."""
        return any(built.proposal_id == proposal_id and self._age(built) < _AGAIN for built in self._all())

    def today(self) -> int:
        """Return the number of proposals built within the last 24 hours."""
        return sum(self._age(built) < timedelta(days=1) for built in self._all())

    def take(self, proposal_id: str, limit: int) -> bool:
        """Claim a proposal for building; return False if it was built lately, or `limit` were built today.

        If several processes ask at once, at most `limit` of them succeed. Raises StoreError.
        """
        with self._documents.changing():
            free = self.today() < limit and not self.lately(proposal_id)
            if free:
                self.remember(proposal_id)
            return free

    def remember(self, proposal_id: str, session_id: str = "") -> None:
        """Record that it was built, and by which session. Raises StoreError."""
        built = _Built(proposal_id=proposal_id, at=self._clock().isoformat(), session_id=session_id)
        self._documents.put(f"proposal:{proposal_id}", {"proposal": msgspec.to_builtins(built)})

    def forget(self, proposal_id: str) -> None:
        """Let a proposal be made again, because it failed for reasons that were not its own. Raises StoreError.

        It still counts for the day, because the attempt may have cost something.
        """
        for built in self._all():
            if built.proposal_id == proposal_id:
                tried = msgspec.structs.replace(built, proposal_id=f"{proposal_id} tried {built.at}")
                self._documents.put(f"proposal:{tried.proposal_id}", {"proposal": msgspec.to_builtins(tried)})
                self._documents.remove(f"proposal:{proposal_id}")

    def _all(self) -> tuple[_Built, ...]:
        return tuple(stored(self._documents.all(), "proposal", _Built))

    def _age(self, built: _Built) -> timedelta:
        return self._clock() - parsed_time(built.at, datetime.min.replace(tzinfo=UTC))
