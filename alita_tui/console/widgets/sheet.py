"""A scrolling sheet of styled rows that wraps them and records what was on screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import ClassVar

import msgspec
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from alita_tui.console.input.judged_widget import JudgedWidget
from alita_tui.console.widgets.styled_text import (
    Line,
    folded,
    restyle,
    text_of,
    to_strip,
    width_of,
)
from alita_tui.console.widgets.styled_view import StyledView


class Row(msgspec.Struct, frozen=True):
    """A row, which may take several lines on screen."""

    body: Line = ()
    gutter: Line = ()
    """Shown before the first screen line."""
    turn: Line = ()
    """Shown before each further screen line; as wide as the gutter, or empty."""
    source: int = 0
    """The source line it shows, to record what was read; 0 for none."""
    hard: bool = False
    """Wrap at the edge, keeping every blank, instead of between words."""
    code: bool = False
    """With `hard`: wrap before the edge where that keeps a name whole."""
    beside: Row | None = None
    """A row to its right, in the other half of the width."""
    clip: int = 0
    """Lines on screen to which it is cut; 0 if it is not cut."""
    link: int = 0
    """The line of the code that it leads to; 0 for none."""

    @property
    def text(self) -> str:
        """The text without gutters."""
        return text_of(self.body) + (f" │ {self.beside.text}" if self.beside else "")


BLANK = Row()


def heading(text: str, note: str = "") -> list[Row]:
    """Return the heading of a part."""
    return [Row(((text.upper(), "heading"), (f"  {note}" if note else "", "muted")))]


def flat(text: str) -> str:
    """Return text on one line, otherwise unchanged, so that hidden characters can still be revealed."""
    return text.strip("\n").replace("\n", " ")


def say(text: str, style: str = "", *, indent: int = 0) -> list[Row]:
    """Return text as rows in one style."""
    pad: Line = ((" " * indent, ""),) if indent else ()
    return [Row(((line, style),), pad) for line in text.split("\n")]


def fact(label: str, body: Line | str, *, width: int = 16) -> Row:
    """Return a row with a quiet label and a hanging body."""
    return Row(((body, ""),) if isinstance(body, str) else body, ((f"  {label:<{width - 2}} ", "muted"),))


def fold_row(row: Row, width: int) -> list[Line]:
    """Return a row as screen lines of at most `width` cells."""
    if row.beside is not None:
        return _fold_pair(row, row.beside, width)
    room = max(width - width_of(row.gutter), 8)
    turn = row.turn or (((" " * width_of(row.gutter), ""),) if row.gutter else ())
    pieces = folded(row.body, room, hard=row.hard, code=row.code)
    if row.clip and len(pieces) > row.clip:
        pieces = folded(row.body, room - 2, bare=True)[: row.clip]
        pieces[-1] = (*pieces[-1], (" …", "muted"))
    return [((row.gutter if n == 0 else turn) + piece) for n, piece in enumerate(pieces)]


def _fold_pair(row: Row, beside: Row, width: int) -> list[Line]:
    half = (width - 1) // 2
    left = fold_row(msgspec.structs.replace(row, beside=None), half)
    right = fold_row(beside, width - half - 1)
    lines: list[Line] = []
    for left_line, right_line in zip_longest(left, right, fillvalue=()):
        lines.append((*left_line, (" " * (half - width_of(left_line)), ""), ("│", "muted"), *right_line))
    return lines


class Sheet(JudgedWidget, StyledView, can_focus=True):
    """Rows of text, without markup."""

    STYLES = tuple(
        "muted heading good warn bad wait hostile added removed keyword string number comment name link strong line "
        "selected".split()
    )
    SPECS: ClassVar[Mapping[str, str]] = {
        "bad": "alita-bad bold",
        "hostile": "alita-hostile bold reverse",
        "comment": "alita-comment italic",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G,shift+g", "scroll_end", show=False),
    ]
    DEFAULT_CSS = """
    Sheet {
        background: $background;
        color: $foreground;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        overflow-y: auto;
    }
    """

    class Seen(Message):
        """More of the sheet was on screen."""

    class Moved(Message):
        """The sheet was scrolled."""

    def __init__(self, rows: Sequence[Row] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: tuple[Row, ...] = tuple(rows)
        self._lines: list[Line] = []
        self._owner: list[int] = []
        """Index of each screen line's row."""
        self._laid_width = 0
        self._target = 0
        """The source line to scroll to once the sheet is laid out; until then nothing counts as seen. 0 for none."""
        self._reached = (0, 0)
        """The source line that the sheet opened at, and the scroll position then."""
        self._displayed: set[int] = set()
        self._records = True
        """False while the layout changes: what is on screen for a moment only does not count as seen."""
        self._reporting = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows."""
        return self._rows

    def show(self, rows: Sequence[Row], *, top: bool = True) -> None:
        """Show other rows; with `top`, from the beginning."""
        self._rows = tuple(rows)
        self._target, self._reached = 0, (0, 0)
        self._lay()
        if top and self.is_attached:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()

    def forget_seen(self) -> None:
        """Forget what was on screen."""
        self._displayed.clear()

    @property
    def records_seen(self) -> bool:
        """Whether what is on screen counts as seen."""
        return self._records

    def record_seen(self, *, records: bool) -> None:
        """Begin or stop to record what is on screen."""
        self._records = records
        if records:
            self.refresh()

    def seen(self, source: int) -> bool:
        """Return whether a source line was fully on screen."""
        return source in self._displayed

    def row_at(self, line: int) -> Row | None:
        """Return the row of a screen line."""
        return self._rows[self._owner[line]] if 0 <= line < len(self._owner) else None

    def scroll_to_source(self, source: int, attempts: int = 5) -> bool:
        """Bring a line of the source to the upper part of the screen, or do so once the sheet is laid out.

        Returns False if the line is not on the sheet.
        """
        if not self._owner:
            shown = any(row.source == source for row in self._rows)
            self._target = source if shown else 0
            return shown
        for index, row in enumerate(self._rows):
            if row.source == source and index in self._owner:
                before = min(3, (self.size.height - 1) // 2)
                goal = min(max(0, self._owner.index(index) - before), len(self._lines) - self.size.height)
                if goal > self.max_scroll_y and attempts:  # the scroll range is not known yet
                    self.call_after_refresh(self.scroll_to_source, source, attempts - 1)
                else:
                    self.scroll_to(y=goal, animate=False, immediate=True, force=True)
                return True
        return False

    def open_at(self, source: int) -> None:
        """Wait for `reach`, which shows a line of the source."""
        self._target = source if any(row.source == source for row in self._rows) else 0

    def reach(self) -> None:
        """Scroll to the target line, unless it is visible from the top; a hidden sheet does so later."""
        if not self._owner or not self._target:
            return
        target, self._target = self._target, 0
        beginning = self._owner[: self.size.height + 1]
        if target not in {self._rows[index].source for index in beginning[:-1] if index != beginning[-1]}:
            self.scroll_to_source(target)
        self._reached = target, round(self.scroll_y)
        self.refresh()

    def scroll_to_row(self, index: int) -> None:
        """Scroll a row to the top."""
        if index in self._owner:
            self.scroll_to(y=self._owner.index(index), animate=False, immediate=True)

    def text(self) -> str:
        """Return the whole text without gutters."""
        return "\n".join(row.text for row in self._rows)

    # --- drawing ------------------------------------------------------------------------

    def _lay(self) -> None:
        width = self.scrollable_content_region.width
        self._laid_width = width
        self._lines, self._owner = [], []
        if not width:  # hidden: it is laid out once it is shown
            return
        for index, row in enumerate(self._rows):
            folded = fold_row(row, width)
            self._lines += folded
            self._owner += [index] * len(folded)
        self.virtual_size = Size(width, len(self._lines))

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap for the new width, keeping the top row in place."""
        target, reached = self._reached
        if target and round(self.scroll_y) == reached:  # it was not scrolled since
            self._target = target
        if self.scrollable_content_region.width == self._laid_width:
            self.call_after_refresh(self.reach)
            return
        top = round(self.scroll_y)
        row = self._owner[top] if top < len(self._owner) else None
        self._lay()
        if self._owner and self._target:
            self.call_after_refresh(self.reach)
        if row is not None and top:
            self.scroll_to_row(row)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report that the sheet was scrolled."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        number = y + self.scroll_offset.y
        base = self.rich_style
        width = self.scrollable_content_region.width
        if number >= len(self._lines):
            return Strip.blank(width, base)
        self._note(number)
        strip = to_strip(self._lines[number], self._styles, base, width)
        if (selection := self.text_selection) and (span := selection.get_span(number)):
            strip = restyle(strip, span[0], span[1], self._styles["selected"])
        return strip.apply_offsets(0, number)

    def _note(self, number: int) -> None:
        """Record a row as seen once its last line is on screen and scrolling has stopped."""
        if (
            not self._records
            or self._target
            or round(self.scroll_y) != round(min(self.scroll_target_y, self.max_scroll_y))
        ):
            return
        owner = self._owner[number]
        source = self._rows[owner].source
        last = number + 1 == len(self._owner) or self._owner[number + 1] != owner
        if not source or not last or source in self._displayed:
            return
        self._displayed.add(source)
        if not self._reporting:
            self._reporting = True
            self.call_later(self._report_seen)

    def _report_seen(self) -> None:
        self._reporting = False
        self.post_message(self.Seen())

    # --- copying ------------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text without gutters; wrapped lines are joined."""
        parts: list[str] = []
        for number, line in enumerate(self._lines):
            span = selection.get_span(number)
            if span is None:
                continue
            row = self._rows[self._owner[number]]
            margin = len(text_of(row.gutter))
            text = text_of(line)
            start, end = max(span[0], margin), len(text) if span[1] < 0 else span[1]
            joined = bool(parts) and number > 0 and self._owner[number - 1] == self._owner[number]
            parts.append(("" if joined or not parts else "\n") + text[start:end])
        return ("".join(parts), "\n") if parts else None
