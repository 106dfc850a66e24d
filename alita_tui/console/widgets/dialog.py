"""The base of the screens that open as a box over the session."""

from __future__ import annotations

from pathlib import PurePath

from textual.screen import ModalScreen, ScreenResultType

Stylesheets = list[str | PurePath]
"""Type of `CSS_PATH`: each dialog lists `dialog.tcss` before its own."""


class Dialog(ModalScreen[ScreenResultType]):
    """A box with a heading, over a dimmed session."""

    def action_back(self) -> None:
        """Close the dialog."""
        self.dismiss(None)
