"""Where the session stands, for the engine: the view of the screen, carried on event by event."""

from __future__ import annotations

from alita_tui.spine.bus import Bus
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView

_PIECE = 1_000


class Standing:
    """The view after all that is on record; what was folded before is not folded again."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._view = SessionView()
        self._heard = 0

    @property
    def view(self) -> SessionView:
        """The view now, its trace left out: the engine does not read it, and it is long."""
        history = self._bus.history
        while self._heard < len(history):
            piece = history[self._heard : self._heard + _PIECE]
            self._view = fold_all(piece, self._view, lambda _: ())
            self._heard += len(piece)
        return self._view
