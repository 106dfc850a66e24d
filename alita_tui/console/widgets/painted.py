"""Calls something once a widget was painted with what it shows now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip
    from textual.widget import Widget
else:
    Widget = object  # a widget takes its styles from one base alone


class TellsPainted(Widget):
    """Mixed into a widget. `call_after_refresh` may come before the widget was painted: each has a queue of its own."""

    _when_painted: Callable[[], object] | None = None

    def when_painted(self, call: Callable[[], object]) -> None:
        """Paint the widget, and then call."""
        self._when_painted = call
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render some lines."""
        strips = super().render_lines(crop)
        self.call_now()
        return strips

    def call_now(self) -> None:
        """Make the waiting call now, also if the widget has nothing to paint."""
        if self._when_painted is not None:
            call, self._when_painted = self._when_painted, None
            self.call_next(call)
