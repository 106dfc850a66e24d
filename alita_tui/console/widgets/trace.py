"""The ReAct trace: drawn line by line over the view's rows, however many there are.

Textual's line API (`ScrollView.render_line`): one widget for the whole list, and only what is on screen is
wrapped and coloured. At its end it follows what comes; whoever scrolls up stays where they are.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from alita_tui.console.actions import bindings
from alita_tui.console.widgets import trace_lines
from alita_tui.console.widgets.inked import Line, restyle, text_of, to_strip, wrap
from alita_tui.view.model import SessionView, TraceRow
from alita_tui.view.rows import Rows


class Trace(ScrollView, can_focus=True):
    """One row per event that says something; rows only ever join at the end."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("pane")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"trace--{ink}" for ink in trace_lines.INKS} | {
        "trace--cursor",
        "trace--mark",
        "trace--hit",
    }
    DEFAULT_CSS = (
        """
    Trace {
        background: $background; color: $foreground;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden;
        .trace--cursor { background: $alita-cursor; }
        .trace--mark { color: $accent; }
        .trace--hit { color: $background; background: $accent; }
        .trace--text { color: $foreground; }
        .trace--strong { color: $foreground; text-style: bold; }
        .trace--task { color: $alita-task; text-style: bold; }
        .trace--thought { color: $alita-thought; text-style: italic; }
        .trace--wait { color: $alita-wait; text-style: bold; }
    """
        + "".join(
            f".trace--{ink} {{ color: $alita-{ink}; }}\n"
            for ink in trace_lines.INKS
            if ink not in ("text", "strong", "task", "thought", "wait")
        )
        + "}"
    )

    follow: reactive[bool] = reactive(True)
    """True while new rows pull the trace along."""
    cursor: reactive[int] = reactive(-1)
    """Index of the chosen row; -1 before there is one."""

    class Yanked(Message):
        """A row's text is to be copied."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FollowChanged(Message):
        """How many rows have come below since the trace was left where it is; 0 when it follows."""

        def __init__(self, unseen: int) -> None:
            super().__init__()
            self.unseen = unseen

    class FindAsked(Message):
        """The person wants to search."""

    def __init__(self, *, id: str | None = None, welcome: tuple[str, ...] = ()) -> None:
        super().__init__(id=id)
        self._welcome = welcome
        self._rows: Rows[TraceRow] = Rows()
        self._starts: list[int] = [0]
        """First screen line of each row, and the end of the last one."""
        self._opened: set[int] = set()
        self._cache: LRUCache[int, list[Line]] = LRUCache(1024)
        self._view = SessionView()
        self._after: list[Line] = []
        """Lines after the last row: what is growing, or the welcome."""
        self._wide = 0
        self._styles: dict[str, Style] = {}
        self._unseen = 0
        self._needle = ""

    # --- what is shown --------------------------------------------------------------------

    def advance(self, view: SessionView) -> None:
        """Draw a newer view, or an earlier one after a seek."""
        rows, before = view.trace, self._rows
        if rows is before and view.live == self._view.live:
            return
        kept = min(len(rows), len(before))
        if kept and rows[kept - 1] != before[kept - 1]:
            kept = 0
        newest = self.cursor >= len(before) - 1
        self._view, self._rows = view, rows
        self._opened = {index for index in self._opened if index < kept}
        if self.cursor >= len(rows) or (newest and self.follow):
            self.cursor = len(rows) - 1
        if not self._wide:
            return
        self._measure(kept)
        self._place()
        if len(rows) > kept and not self.follow:
            self._unseen += len(rows) - kept
            self.post_message(self.FollowChanged(self._unseen))

    def _measure(self, start: int) -> None:
        """Find where each row begins, from one row on."""
        for index in range(start, len(self._starts) - 1):
            self._cache.discard(index)
        del self._starts[start + 1 :]
        before = self._rows[start - 1] if start else None
        heights = [self._starts[-1]]
        for index, row in enumerate(self._rows.since(start), start):
            heights.append(trace_lines.height(row, before, self._wide, opened=index in self._opened))
            before = row
        self._starts[-1:] = accumulate(heights)

    def _place(self) -> None:
        self._after = trace_lines.growing(self._view.live, self._wide)
        if not len(self._rows) and not self._after:
            self._after = self._greeting()
        self.virtual_size = Size(self._wide, self._starts[-1] + len(self._after))
        if self.follow:
            # The new size counts after the next layout only; a scroll before it would stop short.
            self.call_after_refresh(self._to_end)
        self.refresh()

    def _greeting(self) -> list[Line]:
        lines: list[Line] = [()]
        for number, part in enumerate(self._welcome):
            ink = "strong" if number == 0 else "muted"
            lines += [(("   ", ""), (text, ink)) for text in wrap(part, max(self._wide - 4, 10))]
        return lines

    def _to_end(self) -> None:
        if self.follow:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap anew for another width, and keep the row at the top where it is."""
        width = self.scrollable_content_region.width
        if width > 0 and width != self._wide:
            top = self._row_at(round(self.scroll_y))
            self._wide = width
            self._cache.clear()
            self._measure(0)
            self._place()
            if not self.follow and 0 <= top < len(self._rows):
                self.scroll_to(y=self._starts[top], animate=False, immediate=True)
        elif self.follow:
            self.call_after_refresh(self._to_end)

    def notify_style_update(self) -> None:
        """See `Widget.notify_style_update`: the theme may be another."""
        super().notify_style_update()
        self._styles.clear()
        self.refresh()

    def _row_at(self, line: int) -> int:
        return bisect_right(self._starts, line) - 1

    def _lines(self, index: int) -> list[Line]:
        found = self._cache.get(index)
        if found is None:
            before = self._rows[index - 1] if index else None
            found = trace_lines.fold(self._rows[index], before, self._wide, opened=index in self._opened)
            self._cache[index] = found
        return found

    # --- drawing --------------------------------------------------------------------------

    def _line(self, number: int) -> tuple[int, Line]:
        """A line of the whole trace, and the row that it belongs to."""
        index = self._row_at(number)
        if index >= len(self._rows):
            place = number - self._starts[-1]
            return index, self._after[place] if 0 <= place < len(self._after) else ()
        lines, place = self._lines(index), number - self._starts[index]
        return index, lines[place] if place < len(lines) else ()

    def render_line(self, y: int) -> Strip:
        """One line on screen."""
        number, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        base = self.rich_style
        if not self._styles:
            self._styles = {
                ink: self.get_component_rich_style(f"trace--{ink}", partial=True) for ink in trace_lines.INKS
            }
        index, line = self._line(number)
        if index == self.cursor and self.has_focus and line and index < len(self._rows):
            base = base + self.get_component_rich_style("trace--cursor", partial=True)
            mark = to_strip((("▌", ""),), self._styles, base + self._style("mark"), 1)
            strip = Strip.join([mark, to_strip(line, self._styles, base, width).crop(1)])
        else:
            strip = to_strip(line, self._styles, base, width)
        if self._needle:
            strip = self._with_hits(strip)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            strip = restyle(strip, *span, self.screen.get_component_rich_style("screen--selection"))
        return strip.apply_offsets(0, number)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"trace--{name}", partial=True)

    def _with_hits(self, strip: Strip) -> Strip:
        text = strip.text.lower()
        start = text.find(self._needle)
        while start >= 0:
            end = start + len(self._needle)
            cells = strip.index_to_cell_position(start), strip.index_to_cell_position(end)
            strip = restyle(strip, *cells, self._style("hit"))
            start = text.find(self._needle, end)
        return strip

    # --- moving ---------------------------------------------------------------------------

    def watch_cursor(self, cursor: int) -> None:
        """Draw the chosen row as such."""
        self.refresh()

    def _go(self, index: int) -> None:
        """Choose a row and bring it on screen; the last one follows again."""
        if not len(self._rows) or not self._wide:
            return
        self.cursor = min(max(index, 0), len(self._rows) - 1)
        if self.cursor == len(self._rows) - 1:
            self._resume()
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
            return
        self.follow = False
        top, bottom = self._starts[self.cursor], self._starts[self.cursor + 1]
        height = min(max(bottom - top, 1), max(self.size.height, 1))
        self.scroll_to_region(Region(0, top, 1, height), animate=False, immediate=True)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Going up leaves the end behind; being at the end follows it again."""
        super().watch_scroll_y(old, new)
        at_end = new >= self.max_scroll_y - 0.5
        if new < old and not at_end and self.follow:
            self.follow = False
        elif new > old and at_end and not self.follow:
            self._resume()

    def _resume(self) -> None:
        self.follow = True
        self._unseen = 0
        self.post_message(self.FollowChanged(0))

    def on_focus(self) -> None:
        """The newest row is chosen when none was."""
        if self.cursor < 0:
            self.cursor = len(self._rows) - 1
        self.refresh()

    def on_blur(self) -> None:
        """The chosen row is quiet."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click chooses a row; a second one opens it."""
        index = self._row_at(event.y + self.scroll_offset.y)
        if not 0 <= index < len(self._rows) or self.text_selection is not None:
            return
        if index == self.cursor and event.chain > 1:
            self.action_open()
        elif index != self.cursor:
            self.cursor = index

    def action_up(self) -> None:
        """One row up; one line up inside a row that is taller than the screen."""
        top = self._starts[self.cursor] if 0 <= self.cursor < len(self._rows) else 0
        if top < round(self.scroll_y) and self._on_screen():
            self.scroll_relative(y=-1, animate=False, immediate=True)
        else:
            self._go(self.cursor - 1)

    def action_down(self) -> None:
        """One row down; one line down inside a row that is taller than the screen."""
        bottom = round(self.scroll_y) + self.size.height
        if self._on_screen() and self._starts[self.cursor + 1] > bottom:
            self.scroll_relative(y=1, animate=False, immediate=True)
        else:
            self._go(self.cursor + 1)

    def _on_screen(self) -> bool:
        """True when some of the chosen row is."""
        if not 0 <= self.cursor < len(self._rows):
            return False
        top = round(self.scroll_y)
        return self._starts[self.cursor] < top + self.size.height and self._starts[self.cursor + 1] > top

    def action_page(self, direction: int) -> None:
        """A page up or down."""
        here = self._starts[min(max(self.cursor, 0), len(self._rows))]
        self._go(self._row_at(max(here + direction * max(self.size.height - 2, 1), 0)))

    def action_first(self) -> None:
        """To the first row."""
        self._go(0)

    def action_last(self) -> None:
        """To the last row, and follow what comes."""
        self._go(len(self._rows) - 1)

    def action_open(self) -> None:
        """Open or close the row's whole text."""
        index = self.cursor
        if not 0 <= index < len(self._rows):
            return
        self._opened ^= {index}
        self._cache.discard(index)
        self.follow = False
        start, total = self._starts[index], self._starts[index + 1]
        before = self._rows[index - 1] if index else None
        tall = trace_lines.height(self._rows[index], before, self._wide, opened=index in self._opened)
        change = start + tall - total
        self._starts[index + 1 :] = [place + change for place in self._starts[index + 1 :]]
        self._place()
        self.call_after_refresh(self._bring_on_screen, index)

    def _bring_on_screen(self, index: int) -> None:
        if index < len(self._rows):
            top = self._starts[index]
            tall = min(self._starts[index + 1] - top, max(self.size.height, 1))
            self.scroll_to_region(Region(0, top, 1, tall), animate=False, immediate=True)

    # --- copying and finding --------------------------------------------------------------

    def action_yank(self) -> None:
        """Copy the row's text."""
        if 0 <= self.cursor < len(self._rows):
            row = self._rows[self.cursor]
            self.post_message(self.Yanked(str(row.detail or row.title)))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that was selected with the mouse."""
        lines = (text_of(self._line(number)[1]) for number in range(self.virtual_size.height))
        return selection.extract("\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def action_find(self) -> None:
        """Ask for what to search."""
        self.post_message(self.FindAsked())

    def find(self, needle: str) -> int:
        """Search rows; goes to the newest hit at or before the cursor. Returns the number of hits."""
        self._needle = needle.lower()
        hits = [index for index in range(len(self._rows)) if self._hit(index)] if needle else []
        if hits:
            here = self.cursor if self.cursor >= 0 else len(self._rows) - 1
            self._show_hit(hits[max(bisect_right(hits, here) - 1, 0)])
        self.refresh()
        return len(hits)

    def action_find_next(self, direction: int) -> None:
        """To the next hit, around the end."""
        count = len(self._rows)
        for distance in range(1, count + 1):
            index = (self.cursor + direction * distance) % count
            if self._hit(index):
                self._show_hit(index)
                return

    def _show_hit(self, index: int) -> None:
        """Go to a row, opened where the text stands in its detail only."""
        self._go(index)
        if not any(self._needle in text_of(line).lower() for line in self._lines(index)):
            self.action_open()

    def _hit(self, index: int) -> bool:
        row = self._rows[index]
        return bool(self._needle) and (
            self._needle in row.title.lower() or self._needle in row.detail.lower()
        )
