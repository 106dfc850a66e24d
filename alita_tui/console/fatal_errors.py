"""An unexpected error ends the console; its traceback goes to the terminal, without the values of variables."""

from __future__ import annotations

from typing import Any

from rich.segment import Segments
from textual.app import App
from textual.css.query import NoMatches


class RecordsFailure(App[Any]):
    """An app that knows what ended it."""

    failure: Exception | None = None
    """The first unexpected error."""

    def _handle_exception(self, error: Exception) -> None:
        if self._exit and isinstance(error, NoMatches):
            return  # the app ends while it opens: some widgets are removed before others are mounted
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """End the app and write the traceback. Textual's own shows the values of variables, which may be API keys."""
        from rich.traceback import Traceback  # it brings pygments; the first paint needs neither

        traceback = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(traceback, self.console.options)))
        self._close_messages_no_wait()
