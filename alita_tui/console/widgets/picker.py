"""A list to pick from, drawn line by line: name, note and key. Whoever has the focus moves its cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from rich.cells import cell_len
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from alita_tui.console.widgets.styled_text import Line, at_words, to_strip
from alita_tui.console.widgets.styled_view import StyledView

_LEAST = 10
"""Cells below which a note is not worth showing."""


class Pick(msgspec.Struct, frozen=True):
    """One line."""

    name: str
    note: str = ""
    """What it does, or how things stand."""
    key: str = ""
    off: bool = False
    """Cannot be picked now; the note says why."""


class Picker(StyledView, can_focus=False):
    """The list; `cursor` is the index of what would be picked, -1 for nothing."""

    STYLES = ("muted", "name", "cursor", "text", "strong", "heading")
    DEFAULT_CSS = """
    Picker { color: $foreground; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    @dataclass
    class Clicked(Message):
        """A line was clicked."""

        index: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.picks: tuple[Pick, ...] = ()
        self.cursor = 0
        self.empty = "Nothing matches."
        self._named = 0
        """Cells of the longest name."""

    def show(self, picks: Sequence[Pick], cursor: int = 0) -> None:
        """Show other lines."""
        self.picks = tuple(picks)
        self.cursor = min(cursor, len(self.picks) - 1)
        self._named = max((cell_len(pick.name) for pick in self.picks), default=0)
        self._lay()
        self.scroll_to(y=0, animate=False, immediate=True)
        self._show_cursor()

    def move(self, by: int) -> None:
        """Move the cursor."""
        if self.picks:
            self.cursor = min(max(self.cursor + by, 0), len(self.picks) - 1)
            self._show_cursor()

    def _show_cursor(self) -> None:
        tall, top = max(self.size.height, 1), round(self.scroll_y)
        if self.cursor < top or self.cursor >= top + tall:
            goal = self.cursor if self.cursor < top else self.cursor - tall + 1
            self.scroll_to(y=max(goal, 0), animate=False, immediate=True, force=True)
        self.refresh()

    def _lay(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, max(len(self.picks), 1))
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new width."""
        self._lay()
        self._show_cursor()

    def on_click(self, event: events.Click) -> None:
        """Pick the line under the mouse."""
        index = event.y + self.scroll_offset.y
        if index < len(self.picks):
            self.post_message(self.Clicked(index))

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        width, base = self.scrollable_content_region.width, self.rich_style
        index = y + self.scroll_offset.y
        if not self.picks:
            return to_strip(((f"  {self.empty}" if index == 0 else "", "muted"),), self._styles, base, width)
        if index >= len(self.picks):
            return Strip.blank(width, base)
        chosen = index == self.cursor
        if chosen:
            base = base + self._styles["cursor"]
        return to_strip(self._line(self.picks[index], width, chosen=chosen), self._styles, base, width)

    def _line(self, pick: Pick, width: int, *, chosen: bool) -> Line:
        keyed = cell_len(pick.key) + 1 if pick.key else 0
        column = min(self._named, (width - 2) * 3 // 5)
        # A long key takes its cells from its own row only.
        name, note = at_words(pick.name, min(column, width - 4 - keyed)), ""
        if (left := width - 4 - column - keyed) >= _LEAST:
            note = at_words(pick.note, left)
        ink = "muted" if pick.off else "strong" if chosen else "text"
        gap = width - 2 - column - 2 - cell_len(note) - cell_len(pick.key)
        return (
            ("› " if chosen else "  ", "heading"),
            (name + " " * (column - cell_len(name) + 2), ink),
            (note, "muted"),
            (" " * max(gap, 0), ""),
            (pick.key, "muted" if pick.off else "name"),
        )
