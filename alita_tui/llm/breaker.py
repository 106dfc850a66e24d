"""Whether a model may be asked: closed, open, half-open, or off until the person acts.

After M. Nygard, "Release It!" (2018), chapter 5: opens on failures, lets one call through after a while.
"""

from __future__ import annotations

from collections import deque

from alita_tui.events import ProviderState
from alita_tui.spine.errors import ModelError

_IN_A_ROW = 2
_WINDOW = 60.0
_ENOUGH = 4
"""Minimum number of outcomes in the window; then the breaker opens if half of them are failures."""
_FIRST, _LONGEST = 20.0, 300.0
"""Seconds until the first probe, doubled after each failed one, and the maximum."""


class Breaker:
    """The breaker of one model. Times are seconds of one monotonic clock, given by the caller."""

    def __init__(self) -> None:
        self.cause: ModelError | None = None
        """Why it is not closed; None when it is."""
        self._outcomes: deque[tuple[float, bool]] = deque()
        self._row = 0
        self._openings = 0
        self._until = 0.0
        self._open = self._probing = self._off = False

    @property
    def state(self) -> ProviderState:
        """Return the state as the status line shows it."""
        if self._off:
            return "disabled"
        if self._probing:
            return "half_open"
        return "open" if self._open else "closed"

    @property
    def reason(self) -> str:
        """Return the cause in words; an empty string while it is closed."""
        return self.cause.message if self.cause else ""

    def ready_at(self, now: float) -> float | None:
        """Return when the next call may go through; None while it is off or a probe is under way."""
        if self._off or self._probing:
            return None
        return max(now, self._until) if self._open else now

    def admit(self, now: float) -> bool:
        """Let a call through if one may, and return whether; while the breaker is open, this call is the probe."""
        at = self.ready_at(now)
        if at is None or at > now:
            return False
        self._probing = self._open
        return True

    def release(self) -> None:
        """Record a probe that was given up without an outcome, so that another call may probe."""
        self._probing = False

    def succeed(self, now: float) -> None:
        """Record a reply and close the breaker."""
        if self._open:
            self._outcomes.clear()
        self._open = self._probing = self._off = False
        self._row = self._openings = 0
        self.cause = None
        self._note(now, ok=True)

    def fail(self, now: float, cause: ModelError, *, probe: bool = False) -> None:
        """Record a failure; two in a row, or half of at least four within a minute, open the breaker."""
        self._note(now, ok=False)
        self._row += 1
        if self._off or (self._open and not probe):
            return  # a call that was under way when it opened
        failed = sum(not ok for _, ok in self._outcomes)
        often = len(self._outcomes) >= _ENOUGH and 2 * failed >= len(self._outcomes)
        if probe or self._row >= _IN_A_ROW or often:
            self._openings += 1
            self._shut(now + min(_FIRST * 2 ** (self._openings - 1), _LONGEST), cause)

    def cool(self, until: float, cause: ModelError) -> None:
        """Open until the time that the server named."""
        self._shut(max(until, self._until if self._open else 0.0), cause)

    def disable(self, cause: ModelError) -> None:
        """Turn the model off until the person acts."""
        self._off, self._probing, self.cause = True, False, cause

    def enable(self) -> None:
        """Close the breaker: the person has fixed the cause."""
        self._open = self._probing = self._off = False
        self._row = self._openings = 0
        self._outcomes.clear()
        self.cause = None

    def _shut(self, until: float, cause: ModelError) -> None:
        self._open, self._probing, self._until, self.cause = True, False, until, cause

    def _note(self, now: float, *, ok: bool) -> None:
        self._outcomes.append((now, ok))
        while self._outcomes and self._outcomes[0][0] < now - _WINDOW:
            self._outcomes.popleft()
