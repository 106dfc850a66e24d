"""The ReAct trace, drawn line by line over the view's rows, with the reply that is still coming."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from alita_tui.console.actions import bindings
from alita_tui.console.widgets.inked import Line, cut, spread, to_strip, wrap
from alita_tui.view.model import Live, SessionView, TraceRow
from alita_tui.view.rows import Rows

GLYPHS = {
    "session": "·", "task": "❯", "plan": "≡", "thought": "✧", "action": "→", "observation": "←", "build": "◆",
    "approval": "◈", "run": "▸", "question": "?", "memory": "∴", "notice": "!", "error": "✗", "answer": "●",
    "unknown": "·",
}  # fmt: skip
_INKS = (
    "muted task thought plan action observation build approval run answer question memory notice "
    "good warn bad wait line".split()
)
_TONES = {"good": "good", "warn": "warn", "bad": "bad", "wait": "wait", "muted": "muted"}
_WHOLE = ("task", "thought", "answer", "question")
"""Kinds that are read rather than skimmed: wrapped, up to some lines."""
_CLOSED_LINES = 6
_GUTTER = 6
_LIVE_LINES = 8


class Trace(ScrollView, can_focus=True):
    """One row per event that says something; rows only ever join at the end."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("pane")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"trace--{ink}" for ink in _INKS} | {
        "trace--cursor",
        "trace--hit",
    }
    DEFAULT_CSS = (
        """
    Trace {
        background: $background; color: $foreground;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden;
        .trace--cursor { background: $alita-cursor; }
        .trace--hit { text-style: reverse; }
        .trace--task { color: $alita-task; text-style: bold; }
        .trace--thought { color: $alita-thought; text-style: italic; }
        .trace--answer { color: $alita-answer; }
    """
        + "".join(
            f".trace--{ink} {{ color: $alita-{ink}; }}\n"
            for ink in _INKS
            if ink not in ("task", "thought", "answer")
        )
        + "}"
    )

    follow: reactive[bool] = reactive(True)
    cursor: reactive[int] = reactive(-1)

    class Yanked(Message):
        """A row's text is to be copied."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FollowChanged(Message):
        """The trace follows what comes, or was left where it is."""

        def __init__(self, unseen: int) -> None:
            super().__init__()
            self.unseen = unseen

    class FindAsked(Message):
        """The person wants to search."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Rows[TraceRow] = Rows()
        self._starts: list[int] = [0]
        """First screen line of each row, and the end of the last one."""
        self._opened: set[int] = set()
        self._cache: dict[int, list[Line]] = {}
        self._live: list[Line] = []
        self._wide = 0
        self._styles: dict[str, Style] = {}
        self._unseen = 0
        self._needle = ""
        self._beat = 0

    # --- what is shown --------------------------------------------------------------------

    def advance(self, view: SessionView) -> None:
        """Draw a newer view, or an earlier one after a seek."""
        rows = view.trace
        if len(rows) < len(self._rows) or (len(self._rows) and rows[0] != self._rows[0]):
            self._rows, self._opened, self.cursor = Rows(), set(), -1
            self._forget()
        old = len(self._rows)
        self._rows = rows
        if not self._wide:
            return
        for index in range(old, len(rows)):
            self._starts.append(self._starts[-1] + len(self._lines(index)))
        self._live = self._live_lines(view)
        self._resized()
        if len(rows) > old and not self.follow:
            self._unseen += len(rows) - old
            self.post_message(self.FollowChanged(self._unseen))

    def _resized(self) -> None:
        self.virtual_size = Size(self._wide, self._starts[-1] + len(self._live))
        if self.follow:
            # The new size counts after the next layout only; a scroll before it would stop short.
            self.call_after_refresh(self._to_end)
        self.refresh()

    def _to_end(self) -> None:
        if self.follow:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def _forget(self) -> None:
        self._starts = [0]
        self._cache.clear()

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap anew for another width, and keep the row at the top where it is."""
        width = self.scrollable_content_region.width
        if width == self._wide or width <= 0:
            return
        top = self._row_at(round(self.scroll_y))
        self._wide = width
        self._forget()
        for index in range(len(self._rows)):
            self._starts.append(self._starts[-1] + len(self._lines(index)))
        self._resized()
        if not self.follow and 0 <= top < len(self._rows):
            self.scroll_to(y=self._starts[top], animate=False, immediate=True)

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
            if len(self._cache) > 4000:
                self._cache.clear()
            found = self._cache[index] = self._fold(index)
        return found

    def _fold(self, index: int) -> list[Line]:
        row = self._rows[index]
        before = self._rows[index - 1] if index else None
        ink = _TONES.get(row.tone, row.kind) if row.kind not in ("task", "thought") else row.kind
        number = f"{row.step:>3}" if row.step and (before is None or before.step != row.step) else "   "
        room = max(self._wide - _GUTTER, 10)
        lines: list[Line] = []
        if row.kind == "task" and before is not None and not row.meta:
            lines.append(())
        gutter: Line = ((f"{number} ", "muted"), (f"{GLYPHS[row.kind]} ", ink))
        pad: Line = ((" " * _GUTTER, ""),)
        if row.kind in _WHOLE and index not in self._opened:
            aside = len(row.meta) + 2 if row.meta else 0
            whole = wrap(str(row.detail if row.kind == "answer" and row.detail else row.title), room - aside)
            shown = whole[:_CLOSED_LINES]
            if len(whole) > len(shown):
                shown[-1] = cut(shown[-1] + " …", room)
            lines.append(spread((*gutter, (shown[0], ink)), (row.meta, "muted"), self._wide))
            lines += [(*pad, (text, ink)) for text in shown[1:]]
            return lines
        lines.append(spread((*gutter, (row.title, ink)), (row.meta, "muted"), self._wide))
        if index in self._opened:
            quiet = "observation" if row.kind != "thought" else "thought"
            lines += [
                ((" " * 4, ""), ("│ ", "line"), (text, quiet))
                for text in wrap(str(row.detail or row.title), room)
            ]
        return lines

    def _live_lines(self, view: SessionView) -> list[Line]:
        """The end of what is still growing."""
        live: Live = view.live
        room = max(self._wide - _GUTTER, 10)
        found: list[Line] = []
        if live.thinking and not live.text:
            found += _tail(live.thinking, room, "✧", "thought")
        if live.text:
            found += _tail(live.text, room, "✧", "thought")
        if live.arguments and live.role == "toolsmith":
            code = live.arguments.replace("\\n", "\n").replace('\\"', '"')
            found += _tail(code, room, "◆", "build")
        if live.output is not None:
            found += _tail(live.output.text, room, "▸", "run")
        if live.work:
            found.append(_work(live, self._wide))
        return found

    # --- drawing --------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line on screen."""
        number = y + self.scroll_offset.y
        width, base = self.scrollable_content_region.width, self.rich_style
        if not self._styles:
            self._styles = {
                ink: self.get_component_rich_style(f"trace--{ink}", partial=True) for ink in _INKS
            }
        end = self._starts[-1]
        if number >= end:
            place = number - end
            if place >= len(self._live):
                return Strip.blank(width, base)
            return to_strip(self._live[place], self._styles, base, width)
        index = self._row_at(number)
        line = self._lines(index)[number - self._starts[index]]
        if index == self.cursor and self.has_focus and line:
            base = base + self.get_component_rich_style("trace--cursor", partial=True)
        if self._needle and self._hit(index):
            base = base + Style(bold=True)
        return to_strip(line, self._styles, base, width).apply_offsets(0, number)

    # --- moving ---------------------------------------------------------------------------

    def watch_cursor(self, cursor: int) -> None:
        """Keep the chosen row on screen."""
        if 0 <= cursor < len(self._rows) and self._wide:
            top, bottom = self._starts[cursor], self._starts[cursor + 1]
            self.scroll_to_region(Region(0, top, 1, max(bottom - top, 1)), animate=False, immediate=True)
        self.refresh()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Going up leaves the end behind; being at the end follows it again."""
        super().watch_scroll_y(old, new)
        at_end = new >= self.max_scroll_y - 0.5
        if new < old and not at_end and self.follow:
            self.follow = False
        elif at_end and not self.follow:
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
        if 0 <= index < len(self._rows):
            if index == self.cursor:
                self.action_open()
            self.cursor = index

    def action_up(self) -> None:
        """One row up."""
        self.cursor = max(self.cursor - 1, 0)

    def action_down(self) -> None:
        """One row down."""
        self.cursor = min(self.cursor + 1, len(self._rows) - 1)

    def action_page(self, direction: int) -> None:
        """A page up or down."""
        target = round(self.scroll_y) + direction * max(self.size.height - 2, 1)
        self.cursor = min(max(self._row_at(min(max(target, 0), self._starts[-1])), 0), len(self._rows) - 1)

    def action_first(self) -> None:
        """To the first row."""
        self.cursor = 0 if len(self._rows) else -1

    def action_last(self) -> None:
        """To the last row, and follow what comes."""
        self.cursor = len(self._rows) - 1
        self._resume()
        self.scroll_end(animate=False, immediate=True)

    def action_open(self) -> None:
        """Open or close the row's whole text."""
        index = self.cursor
        if not 0 <= index < len(self._rows):
            return
        self._opened ^= {index}
        self._cache.pop(index, None)
        change = len(self._lines(index)) - (self._starts[index + 1] - self._starts[index])
        for place in range(index + 1, len(self._starts)):
            self._starts[place] += change
        self.follow = False
        self._resized()

    def action_yank(self) -> None:
        """Copy the row's text."""
        if 0 <= self.cursor < len(self._rows):
            row = self._rows[self.cursor]
            self.post_message(self.Yanked(str(row.detail or row.title)))

    # --- finding --------------------------------------------------------------------------

    def action_find(self) -> None:
        """Ask for what to search."""
        self.post_message(self.FindAsked())

    def find(self, needle: str) -> int:
        """Search rows; goes to the newest hit before the cursor. Returns the number of hits."""
        self._needle = needle.casefold()
        hits = sum(self._hit(index) for index in range(len(self._rows))) if needle else 0
        if hits:
            self.cursor = len(self._rows) - 1 if self.cursor < 0 else self.cursor
            if not self._hit(self.cursor):
                self.action_find_next(-1)
        self.refresh()
        return hits

    def action_find_next(self, direction: int) -> None:
        """To the next hit, around the end."""
        count = len(self._rows)
        for distance in range(1, count + 1):
            index = (self.cursor + direction * distance) % count
            if self._hit(index):
                self.cursor = index
                return

    def _hit(self, index: int) -> bool:
        row = self._rows[index]
        return bool(self._needle) and (
            self._needle in row.title.casefold() or self._needle in row.detail.casefold()
        )


def _tail(text: str, room: int, glyph: str, ink: str) -> list[Line]:
    shown = wrap(text.rstrip(), room)[-_LIVE_LINES:]
    return [
        (("    ", ""), (f"{glyph} " if n == 0 else "  ", ink), (line, ink)) for n, line in enumerate(shown)
    ]


def _work(live: Live, width: int) -> Line:
    share = f"{100 * live.work_done / live.work_total:.0f} %" if live.work_total else ""
    bar: Line = ()
    if live.work_total:
        cells = 12
        full = round(cells * min(live.work_done / live.work_total, 1.0))
        bar = (("━" * full, "wait"), ("━" * (cells - full), "line"), (" ", ""))
    said = f"{live.work}  {live.work_detail}".rstrip()
    return spread((("    ", ""), ("… ", "wait"), *bar, (said, "muted")), (share, "muted"), width)
