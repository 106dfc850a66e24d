"""The ReAct trace, drawn line by line from the view's rows.

Textual's line API (`ScrollView.render_line`): one widget for the whole list, and only what is on screen is
wrapped and coloured. At its end it follows what comes; whoever scrolls up stays where they are.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar, Literal

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from alita_tui.console.actions import bindings
from alita_tui.console.session import trace_lines
from alita_tui.console.session.trace_layout import Layout
from alita_tui.console.widgets.styled_text import Line, marked, restyle, text_of, theme_styles, to_strip
from alita_tui.view.model import SessionView

Said = Literal["up", "down", "should_be", "undo"]
"""What a key says of a row: good, not good, what it should be; or takes that back."""


class Trace(ScrollView, can_focus=True):
    """One row per notable event; rows are only ever appended."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("trace", "pane", but=("pane.help",))
    DEFAULT_CSS = """
    Trace {
        background: $background; color: $foreground;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden;
    }
    """

    follow: reactive[bool] = reactive(True)
    """Whether the trace scrolls along with new rows."""
    cursor: reactive[int] = reactive(-1)
    """Index of the selected row; -1 for none."""

    class Yanked(Message):
        """Copy a row's text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FollowChanged(Message):
        """Number of rows below that were not seen yet; 0 while the trace follows."""

        def __init__(self, unseen: int) -> None:
            super().__init__()
            self.unseen = unseen

    class FindAsked(Message):
        """Open the search."""

    class ExplainAsked(Message):
        """Explain a row."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class FileAsked(Message):
        """Look into the file of a row, save it, or open it with its program."""

        def __init__(self, trace: Trace, handle: str, what: Literal["view", "save", "open"]) -> None:
            super().__init__()
            self.trace = trace
            self.handle = handle
            self.what = what

    class RateAsked(Message):
        """Say how good the answer or run of a row is."""

        def __init__(self, seq: int, rating: Said) -> None:
            super().__init__()
            self.seq = seq
            self.rating: Said = rating

    class RewindAsked(ExplainAsked):
        """Show everything as it was at a row."""

    def __init__(self, *, id: str | None = None, welcome: tuple[str, ...] = ()) -> None:
        super().__init__(id=id)
        self._welcome = welcome
        self._laid = Layout()
        self._view = SessionView()
        self._after: list[Line] = []
        """Lines after the last row: live text, or the welcome."""
        self._styles: dict[str, Style] = {}
        self._unseen = 0
        self._needle = ""

    # --- what is shown --------------------------------------------------------------------

    def advance(self, view: SessionView) -> None:
        """Draw a newer view, or an earlier one after a seek."""
        laid = self._laid
        if view.trace is laid.rows and view.live == self._view.live:
            return
        newest = self.cursor >= len(laid.rows) - 1
        self._view, kept = view, laid.show(view.trace)
        count = len(laid.rows)
        if self.cursor >= count or (newest and self.follow):
            self.cursor = count - 1
        if not laid.width:
            return
        self._place()
        if count > kept and not self.follow and laid.end > self.size.height:
            self._unseen += count - kept
            self.post_message(self.FollowChanged(self._unseen))

    def _place(self, top: int | None = None) -> None:
        """Update the total height, keeping `top` or the current line at the top."""
        laid, lines = self._laid, max(self.size.height, 1)
        self._after = trace_lines.growing(self._view.live, laid.width)
        if not len(laid.rows) and not self._after:
            self._after = trace_lines.greeting(self._welcome, laid.width)
        if self.follow:
            # Measuring the end may bring the end nearer.
            for _ in range(2):
                laid.settle(laid.end + len(self._after) - lines, lines)
        else:
            top = laid.settle(round(self.scroll_y) if top is None else top, lines)
        self.virtual_size = Size(laid.width, laid.end + len(self._after))
        if self.follow:
            # The new size counts after the next layout only; a scroll before it would stop short.
            self.call_after_refresh(self._to_end)
        elif top is not None and top != round(self.scroll_y):
            self.scroll_to(y=top, animate=False, immediate=True)
        self.refresh()

    def _to_end(self) -> None:
        if self.follow:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap for the new width, keeping the top row in place."""
        width, laid = self.scrollable_content_region.width, self._laid
        if width > 0 and width != laid.width:
            top = laid.row_at(round(self.scroll_y))
            laid.fit(width)
            self._place(laid.place(top)[0] if top < len(laid.rows) else None)
        elif self.follow:
            self.call_after_refresh(self._to_end)

    def notify_style_update(self) -> None:
        """Drop the cached styles: the theme may have changed."""
        super().notify_style_update()
        self._styles.clear()
        self.refresh()

    # --- drawing --------------------------------------------------------------------------

    def _line(self, number: int) -> tuple[int, Line]:
        """Return a line of the trace and the index of its row."""
        place = number - self._laid.end
        if place < 0:
            return self._laid.line(number)
        return len(self._laid.rows), self._after[place] if place < len(self._after) else ()

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        number, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        base = self.rich_style
        if not self._styles:
            self._styles = theme_styles(
                self.app.theme_variables,
                (*trace_lines.STYLES, "cursor", "mark", "hit"),
                task="alita-task bold",
                wait="alita-wait bold",
                thought="alita-thought italic",
            )
        index, line = self._line(number)
        if index == self.cursor and self.has_focus and line and index < len(self._laid.rows):
            base = base + self._styles["cursor"]
            mark = to_strip((("▌", ""),), self._styles, base + self._styles["mark"], 1)
            strip = Strip.join([mark, to_strip(line, self._styles, base, width).crop(1)])
        else:
            strip = to_strip(line, self._styles, base, width)
        if self._needle:
            strip = marked(strip, self._needle, self._styles["hit"])
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            strip = restyle(strip, *span, self.screen.get_component_rich_style("screen--selection"))
        return strip.apply_offsets(0, number)

    # --- moving ---------------------------------------------------------------------------

    def _go(self, index: int) -> None:
        """Select a row and scroll to it; the last one follows again."""
        if not len(self._laid.rows) or not self._laid.width:
            return
        self.cursor = min(max(index, 0), len(self._laid.rows) - 1)
        if self.cursor == len(self._laid.rows) - 1:
            self._resume()
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
            return
        self.follow = False
        self._bring(self.cursor)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Stop following when scrolled up; follow again at the end."""
        super().watch_scroll_y(old, new)
        at_end = new >= self.max_scroll_y - 0.5
        if new < old and not at_end and self.follow:
            self.follow = False
        elif new > old and at_end and not self.follow:
            self._resume()
        self._settle()

    def _settle(self) -> None:
        """Measure the rows on screen."""
        laid, here = self._laid, round(self.scroll_y)
        end = laid.end
        top = laid.settle(here, max(self.size.height, 1))
        if laid.end != end:
            self.virtual_size = Size(laid.width, laid.end + len(self._after))
            if top != here:
                self.scroll_to(y=top, animate=False, immediate=True)

    def _resume(self) -> None:
        self.follow = True
        self._unseen = 0
        self.post_message(self.FollowChanged(0))

    def watch_has_focus(self, focused: bool) -> None:
        """Select the newest row on focus, if none is selected."""
        super().watch_has_focus(focused)
        if focused and self.cursor < 0:
            self.cursor = len(self._laid.rows) - 1

    def on_click(self, event: events.Click) -> None:
        """A click selects a row, a second one opens it."""
        index = self._laid.row_at(event.y + self.scroll_offset.y)
        if index < len(self._laid.rows) and self.text_selection is None:
            if index == self.cursor and event.chain > 1:
                self.action_open()
            self.cursor = index

    def action_up(self) -> None:
        """Go one row up, or one line inside a row taller than the screen."""
        if self._shown() and self._laid.place(self.cursor)[0] < round(self.scroll_y):
            self.scroll_relative(y=-1, animate=False, immediate=True)
        else:
            self._go(self.cursor - 1)

    def action_down(self) -> None:
        """Go one row down, or one line inside a row taller than the screen."""
        bottom = round(self.scroll_y) + self.size.height
        if self._shown() and self._laid.place(self.cursor)[1] > bottom:
            self.scroll_relative(y=1, animate=False, immediate=True)
        else:
            self._go(self.cursor + 1)

    def _shown(self) -> bool:
        return self._laid.visible(self.cursor, round(self.scroll_y), self.size.height)

    def action_page(self, direction: int) -> None:
        """A page up or down."""
        if 0 <= self.cursor < len(self._laid.rows) and self._laid.width:
            here = self._laid.place(self.cursor)[0]
            self._go(self._laid.row_at(max(here + direction * max(self.size.height - 2, 1), 0)))

    def action_first(self) -> None:
        """To the first row."""
        self._go(0)

    def action_last(self) -> None:
        """To the last row, and follow what comes."""
        self._go(len(self._laid.rows) - 1)

    def action_open(self) -> None:
        """Open or close the row; of a file look into it."""
        if 0 <= self.cursor < len(self._laid.rows) and self._laid.rows[self.cursor].kind == "file":
            self.action_file("view")
        else:
            self.unfold()

    def unfold(self) -> None:
        """Open or close the row."""
        index = self.cursor
        if 0 <= index < len(self._laid.rows) and self._laid.width:
            self.follow = False
            self._laid.toggle(index)
            self._place()
            self.call_after_refresh(self._bring, index)

    def _bring(self, index: int) -> None:
        """Scroll to a row, or to its beginning if it is taller than the screen."""
        if index < len(self._laid.rows):
            top, bottom = self._laid.place(index)
            tall = min(max(bottom - top, 1), max(self.size.height, 1))
            self.scroll_to_region(Region(0, top, 1, tall), animate=False, immediate=True)

    # --- copying and finding --------------------------------------------------------------

    def action_yank(self) -> None:
        """Copy the row's text."""
        if 0 <= self.cursor < len(self._laid.rows):
            row = self._laid.rows[self.cursor]
            self.post_message(self.Yanked(str(row.detail or row.title)))

    def action_explain(self) -> None:
        """Ask why the event at the cursor happened."""
        if 0 <= self.cursor < len(self._laid.rows):
            self.post_message(self.ExplainAsked(self._laid.rows[self.cursor].seq))

    def action_file(self, what: Literal["view", "save", "open"]) -> None:
        """Look into the file of the chosen row, save it, or open it with its program."""
        if 0 <= self.cursor < len(self._laid.rows):
            row = self._laid.rows[self.cursor]
            if row.kind == "file":
                self.post_message(self.FileAsked(self, row.detail.partition("\n")[0], what))
            else:
                self.notify("This row is no file.", markup=False)

    def action_rate(self, rating: Said) -> None:
        """Say how good the answer or run of the chosen row is."""
        if 0 <= self.cursor < len(self._laid.rows):
            self.post_message(self.RateAsked(self._laid.rows[self.cursor].seq, rating))

    def action_rewind(self) -> None:
        """Show everything as it was at the chosen row."""
        if 0 <= self.cursor < len(self._laid.rows):
            self.post_message(self.RewindAsked(self._laid.rows[self.cursor].seq))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text selected with the mouse."""
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.virtual_size.height - 1
        lines = [""] * first
        lines += [text_of(self._line(number)[1]) for number in range(first, last + 1)]
        return selection.extract("\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def action_find(self) -> None:
        """Open the search."""
        self.post_message(self.FindAsked())

    def find(self, needle: str) -> int:
        """Search rows; go to the newest hit at or before the cursor. Return the number of hits."""
        self._needle = needle.lower()
        hits = self._laid.hits(self._needle)
        if hits:
            here = self.cursor if self.cursor >= 0 else len(self._laid.rows) - 1
            self._show_hit(hits[max(bisect_right(hits, here) - 1, 0)])
        self.refresh()
        return len(hits)

    def action_find_next(self, direction: int) -> None:
        """Go to the next hit, wrapping around."""
        found = self._laid.next_hit(self.cursor, self._needle, direction)
        if found is not None:
            self._show_hit(found)

    def _show_hit(self, index: int) -> None:
        """Go to a hit; open the row if the match is in its detail."""
        self._go(index)
        if self._laid.width and not self._laid.shows(index, self._needle):
            self.unfold()
