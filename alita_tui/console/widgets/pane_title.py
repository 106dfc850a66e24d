"""The title of a pane: what it is called, and a text that gives way at words."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.spine.text import one_line

_GAP = "  "
_LONGEST = 300


class PaneTitle(Plain):
    """One line."""

    def __init__(self, name: str, *, id: str) -> None:
        super().__init__(name, id=id, classes="pane-title")
        self._parts = (Content(name), "", Content())

    def show(self, name: str | Content, text: str, mark: Content | None = None) -> None:
        """Show what the pane is called, what it is about, and a mark behind both that is always whole."""
        parts = (Content(name) if isinstance(name, str) else name, text, mark or Content())
        if parts != self._parts:
            self._parts = parts
            self._draw()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        name, text, mark = self._parts
        room = self.content_size.width - name.cell_length - mark.cell_length - cell_len(_GAP)
        # Before it is laid out there is no width; the stylesheet cuts what is too long.
        shown = at_words(one_line(text, _LONGEST), room) if self.content_size.width else text
        about = (f"{_GAP}{shown}", "not bold $foreground") if shown else ""
        self.update(Content.assemble(name, about, mark))
