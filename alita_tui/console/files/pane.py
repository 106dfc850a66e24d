"""The base of every way to show a file: numbered lines, a cursor, moving, finding, copying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from alita_tui.console.actions import bindings
from alita_tui.console.messages import CopyAsked
from alita_tui.console.widgets import markdown
from alita_tui.console.widgets.styled_text import (
    Line,
    marked,
    restyle,
    text_of,
    to_strip,
    width_of,
)
from alita_tui.console.widgets.styled_view import StyledView

_SIDEWAYS = 16
"""Cells that a key moves a long line sideways."""
_MOST_SELECTED = 5_000
"""Lines that the mouse can copy."""


class Pane(StyledView, can_focus=True):
    """Lines of a file. Subclasses return their number and the look of each."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("pane", "file_pane", excluded=("pane.help",))
    STYLES = (*markdown.STYLES, "cursor", "cell", "hit", "selected", "bad", "good", "wait")
    SPECS: ClassVar[Mapping[str, str]] = {"cell": "background on primary"}
    DEFAULT_CSS = """
    Pane {
        background: $background; color: $foreground; height: 1fr;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden; overflow-y: auto;
    }
    """
    fixed = 0
    """Lines at the top that do not scroll."""
    pointed = True
    """Whether there is a cursor."""

    @dataclass
    class Notice(Message):
        """Show a message in the last line."""

        text: str
        bad: bool = False

    class Counted(Message):
        """The number of known lines changed."""

    @dataclass
    class FindAsked(Message):
        """Search for a new text (0), or for the last one in a direction."""

        direction: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        self.needle = ""
        self.sideways = 0
        """Cells by which lines are moved to the left."""

    # --- for subclasses ----------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Return how many lines are known."""
        return 0

    @property
    def size_words(self) -> str:
        """Return the size of the content in words."""
        return ""

    def parts(self, number: int, width: int) -> tuple[Line, Line]:
        """Return the margin of a line, which stays where it is, and the line."""
        return (), ()

    def top(self, width: int) -> Line:
        """Return a line that does not scroll."""
        return ()

    def copied(self) -> str:
        """Return what one key copies."""
        return text_of(self.parts(self.cursor, 10_000)[1])

    async def look_for(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next line from `start` on that contains a text, and where to look on; -1 at the end."""
        folded_needle = needle.casefold()
        while 0 <= start < self.count:
            if folded_needle in text_of(self.parts(start, 10_000)[1]).casefold():
                return start, start
            start += direction
        return None, -1

    async def reach(self, number: int) -> int:
        """Return the index of a line by its number from 1, once it is counted."""
        return number - 1

    # --- drawing ----------------------------------------------------------------------------

    def recount(self) -> None:
        """Update the number of lines."""
        size = Size(self.scrollable_content_region.width, self.count + self.fixed)
        if size != self.virtual_size:
            self.virtual_size = size
        self.post_message(self.Counted())
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Lay out for the new width."""
        self.recount()

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        base, styles = self.rich_style, self._styles
        width = self.scrollable_content_region.width
        if y < self.fixed:
            return to_strip(self.top(width), styles, base, width)
        number = y - self.fixed + self.scroll_offset.y
        if number >= self.count:
            return Strip.blank(width, base)
        if self.pointed and number == self.cursor:
            base = base + styles["cursor"]
        margin, line = self.parts(number, width)
        wide = width_of(margin)
        strip = to_strip(line, styles, base, max(width - wide, 1) + self.sideways)
        strip = Strip.join([to_strip(margin, styles, base, wide), strip.crop(self.sideways)])
        if self.needle:
            strip = marked(strip, self.needle.lower(), styles["hit"])
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            strip = restyle(strip, *span, styles["selected"])
        return strip.apply_offsets(0, number)

    # --- moving -----------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Return how many lines scroll on screen."""
        return max(self.size.height - self.fixed, 1)

    def go(self, number: int) -> None:
        """Put the cursor on a line and bring it on screen."""
        self.cursor = min(max(number, 0), max(self.count - 1, 0))
        top = round(self.scroll_y)
        if not top - self.room <= self.cursor < top + 2 * self.room:
            top = self.cursor - self.room // 3  # far away: with what stands around it
        elif self.cursor < top:
            top = self.cursor
        elif self.cursor >= top + self.room:
            top = self.cursor - self.room + 1
        self.scroll_to(y=max(top, 0), animate=False, immediate=True, force=True)
        self.moved()
        self.refresh()

    def moved(self) -> None:
        """Tell what is at the cursor."""

    def _step(self, lines: int) -> None:
        if self.pointed:
            self.go(self.cursor + lines)
        else:
            self.scroll_to(y=round(self.scroll_y) + lines, animate=False, immediate=True)

    def action_up(self) -> None:
        """One line up."""
        self._step(-1)

    def action_down(self) -> None:
        """One line down."""
        self._step(1)

    def action_page(self, direction: int) -> None:
        """A page up or down."""
        self._step(direction * max(self.room - 1, 1))

    def action_first(self) -> None:
        """To the first line."""
        self._step(-self.count)

    def action_last(self) -> None:
        """To the last line."""
        self._step(self.count)

    def action_sideways(self, direction: int) -> None:
        """Move long lines sideways."""
        self.sideways = max(self.sideways + direction * _SIDEWAYS, 0)
        self.refresh()

    def action_open(self) -> None:
        """Do what Enter does here: nothing."""

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the click is."""
        number = event.y - self.fixed + self.scroll_offset.y
        if self.pointed and event.y >= self.fixed and number < self.count and self.text_selection is None:
            self.go(number)

    # --- copying and finding ----------------------------------------------------------------

    def action_yank(self) -> None:
        """Copy."""
        if self.count:
            self.post_message(CopyAsked(self.copied()))

    def action_find(self) -> None:
        """Ask what to search for."""
        self.post_message(self.FindAsked())

    def action_find_next(self, direction: int) -> None:
        """Go to the next hit."""
        if self.needle:
            self.post_message(self.FindAsked(direction))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text selected with the mouse, without margins."""
        first = selection.start.y if selection.start else 0
        last = min(
            selection.end.y if selection.end else self.count - 1, first + _MOST_SELECTED, self.count - 1
        )
        parts = []
        for number in range(first, last + 1):
            margin, line = self.parts(number, self.scrollable_content_region.width)
            span = selection.get_span(number)
            if span is not None:
                wide, text = width_of(margin) - self.sideways, text_of(line)
                end = len(text) if span[1] < 0 else max(span[1] - wide, 0)
                parts.append(text[max(span[0] - wide, 0) : end].rstrip())
        return "\n".join(parts), "\n"
