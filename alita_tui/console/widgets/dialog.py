"""The base of the screens that open as a box over the session."""

from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType

from alita_tui.console.actions import action
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.spine.text import one_line
from alita_tui.view.model import SessionView

_FRAME = 2
"""Lines of the box's frame."""
Stylesheets = list[str | PurePath]
"""Type of `CSS_PATH`: each dialog lists `dialog.tcss` before its own."""


class Dialog(ModalScreen[ScreenResultType]):
    """A box with a heading, over a dimmed session."""

    BINDINGS: ClassVar[list[BindingType]] = [  # the app's own are out of reach under a modal screen
        Binding(action("app.help").key, "app.help", "Help", show=False, id="app.help")
    ]

    def follow(self, view: SessionView) -> None:
        """Take a newer view, as soon as there are widgets to draw it."""
        if self.is_mounted:
            self.advance(view)
        else:
            self.call_later(self.advance, view)

    def advance(self, view: SessionView) -> None:
        """Draw a newer view. Most dialogs do not follow the session."""

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show a message in the line `#said`, in red if it is `bad`."""
        line = self.query_one("#said", KeyLine)
        line.show((Content(one_line(text, 400)),))
        line.set_class(bad, "-bad")

    def fit(self, lines: int) -> None:
        """Make the box as high as so many lines need, up to the `max-height` of its styles."""
        self.query_one("#box").styles.height = lines + _FRAME

    def action_back(self) -> None:
        """Close the dialog."""
        self.dismiss(None)
