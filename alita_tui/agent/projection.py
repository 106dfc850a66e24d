"""Where the session stands, for the engine: its state, kept up to date event by event."""

from __future__ import annotations

from alita_tui.spine.bus import Bus
from alita_tui.state.reduce import reduce_all
from alita_tui.state.session import SessionState

_PIECE = 1_000
"""Events that are read at once from a long session's file."""


class StateProjection:
    """The state after everything on record. No event is reduced twice."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._state = SessionState()
        self._seen = 0

    @property
    def state(self) -> SessionState:
        """The state now."""
        history = self._bus.history
        while self._seen < len(history):
            piece = history[self._seen : self._seen + _PIECE]
            self._state = reduce_all(piece, self._state)
            self._seen += len(piece)
        return self._state
