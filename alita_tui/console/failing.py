"""An unexpected error ends the console; what it was is kept for the terminal, without the values of variables."""

from __future__ import annotations

from typing import Any

from rich.segment import Segments
from textual.app import App
from textual.css.query import NoMatches


class KeepsFailure(App[Any]):
    """An app that knows what ended it."""

    failure: Exception | None = None
    """The first unexpected error."""

    def _handle_exception(self, error: Exception) -> None:
        if self._exit and isinstance(error, NoMatches):
            return  # told to end while it opened: parts of the screen are gone before the others are there
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """End the app and write the traceback. Textual's own has the values of variables, and so maybe a key."""
        from rich.traceback import Traceback  # it brings pygments; the first paint needs neither

        traceback = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(traceback, self.console.options)))
        self._close_messages_no_wait()
