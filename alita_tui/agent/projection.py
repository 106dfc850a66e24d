"""The session's state for the engine, updated with each event."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from alita_tui.spine.bus import Bus
from alita_tui.state.reduce import reduce_all
from alita_tui.state.session import SessionState

_PIECE = 1_000
"""Events that are read at once from a long session's file."""


class StateProjection:
    """The state after all recorded events. No event is reduced twice."""

    def __init__(self, bus: Bus, known_state: Callable[[], SessionState | None] = lambda: None) -> None:
        """`known_state` returns a state of this session that another part has already reduced, or None."""
        self._bus = bus
        self._known_state = known_state
        self._state = SessionState()
        self._reduced = 0

    @property
    def state(self) -> SessionState:
        """The state now."""
        history = self._bus.history
        if len(history) - self._reduced > _PIECE:
            self._take_over()
        while self._reduced < len(history):
            piece = history[self._reduced : self._reduced + _PIECE]
            self._state = reduce_all(piece, self._state)
            self._reduced += len(piece)
        return self._state

    def _take_over(self) -> None:
        """Begin from the known state: reducing a long session twice takes seconds, and its memory twice."""
        known_state = self._known_state()
        if known_state is not None and known_state.seq > self._state.seq:
            self._state = known_state
            self._reduced = bisect_right(
                self._bus.history, known_state.seq, key=lambda envelope: envelope.seq or 0
            )
