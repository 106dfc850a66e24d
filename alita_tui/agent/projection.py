"""Where the session stands, for the engine: its state, kept up to date event by event."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from alita_tui.spine.bus import Bus
from alita_tui.state.reduce import reduce_all
from alita_tui.state.session import SessionState

_PIECE = 1_000
"""Events that are read at once from a long session's file."""


class StateProjection:
    """The state after everything on record. No event is reduced twice."""

    def __init__(self, bus: Bus, known: Callable[[], SessionState | None] = lambda: None) -> None:
        """`known` returns a state of this session that somebody else has reduced already, or None."""
        self._bus = bus
        self._known = known
        self._state = SessionState()
        self._seen = 0

    @property
    def state(self) -> SessionState:
        """The state now."""
        history = self._bus.history
        if len(history) - self._seen > _PIECE:
            self._take_over()
        while self._seen < len(history):
            piece = history[self._seen : self._seen + _PIECE]
            self._state = reduce_all(piece, self._state)
            self._seen += len(piece)
        return self._state

    def _take_over(self) -> None:
        """Begin from the known state: reducing a long session twice takes seconds, and its memory twice."""
        known = self._known()
        if known is not None and known.seq > self._state.seq:
            self._state = known
            self._seen = bisect_right(self._bus.history, known.seq, key=lambda envelope: envelope.seq or 0)
