"""A session on one line: its marks, and how far it was played."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from alita_tui.console.widgets.styled_text import Line, to_strip
from alita_tui.view.queries import Mark

GLYPHS: dict[Mark, str] = {
    "error": "✖",
    "approval": "◆",
    "build": "▲",
    "answer": "●",
    "task": "▶",
    "run": "■",
    "thought": "·",
}
"""Glyph of each mark; if several share a cell, the first listed is shown."""
FLAG = "⚑"
"""A bookmark."""
_RAIL = "─━"
_DENSE = 3
"""Marks per cell from which the rail is drawn heavy."""


def cell_of(position: int, total: int, width: int) -> int:
    """Return the cell of the event before a position."""
    return 0 if total < 1 else min(width - 1, max(0, position - 1) * width // total)


def position_of(cell: int, total: int, width: int) -> int:
    """Return the position after the first event of a cell."""
    return min(total, -(-cell * total // max(width, 1)) + 1) if total else 0


def gather(marks: Sequence[Mark | None], width: int) -> list[tuple[Mark | None, int]]:
    """Return each cell's most important mark and number of marks."""
    total, rank = len(marks), {kind: order for order, kind in enumerate(GLYPHS)}
    cells: list[tuple[Mark | None, int]] = [(None, 0)] * width
    for index, mark in enumerate(marks):
        if mark:
            cell = cell_of(index + 1, total, width)
            best, count = cells[cell]
            cells[cell] = (mark if best is None or rank[mark] < rank[best] else best, count + 1)
    return cells


def draw(
    marks: Sequence[Mark | None],
    position: int,
    width: int,
    *,
    bookmarks: Collection[int] = (),
    cells: Sequence[tuple[Mark | None, int]] | None = None,
) -> Line:
    """Return the line: rail, glyphs, flags and the playhead.

    `bookmarks` are positions; `cells` is `gather(marks, width)`, where the caller has it.
    """
    total = len(marks)
    head = cell_of(position, total, width)
    flags = {cell_of(bookmark, total, width) for bookmark in bookmarks}
    line: list[tuple[str, str]] = []
    for cell, (best, count) in enumerate(cells if cells is not None else gather(marks, width)):
        text = GLYPHS[best] if best else _RAIL[0]
        played = cell <= head and position > 0
        if cell in flags and best != "error":
            text, style = FLAG, "flag"
        elif best is None or (best == "thought" and count >= _DENSE):
            text, style = _RAIL[count >= _DENSE], "played" if played else "rail"
        else:
            style = best if played else f"{best}-ahead"
        line.append((text, f"{style}-head" if cell == head else style))
    return tuple(line)


class Timeline(Widget):
    """Shows marks and a position; a click posts the clicked position."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "timeline--rail",
        "timeline--played",
        "timeline--ahead",
        "timeline--head",
        "timeline--flag",
        *(f"timeline--{kind}" for kind in GLYPHS),
    }
    DEFAULT_CSS = """
    Timeline {
        height: 1;
        background: $panel;
        .timeline--rail { color: $alita-line; }
        .timeline--played { color: $alita-muted; }
        .timeline--ahead { text-style: none; }
        .timeline--head { background: $alita-approval; color: $background; text-style: bold; }
        .timeline--flag { color: $alita-wait; text-style: bold; }
        .timeline--error { color: $alita-bad; text-style: bold; }
        .timeline--approval { color: $alita-approval; text-style: bold; }
        .timeline--build { color: $alita-build; text-style: bold; }
        .timeline--answer { color: $alita-answer; text-style: bold; }
        .timeline--task { color: $alita-task; text-style: bold; }
        .timeline--run { color: $alita-run; }
        .timeline--thought { color: $alita-thought; }
    }
    """

    @dataclass
    class Chosen(Message):
        """A position was clicked."""

        position: int

    def __init__(self, marks: Sequence[Mark | None] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.marks = marks
        """May grow at the end."""
        self.position = 0
        self.bookmarks: tuple[int, ...] = ()
        """Positions with a flag."""
        self._cells: list[tuple[Mark | None, int]] = []
        self._gathered = (0, -1)
        """Number of marks and of cells at the last `gather`."""
        self._drawn: tuple[int, tuple[int, ...], int] | None = None

    def advance(self, position: int, bookmarks: tuple[int, ...] = ()) -> None:
        """Move the playhead and the flags."""
        state = (position, bookmarks, len(self.marks))
        if state != self._drawn:
            self._drawn = state
            self.position, self.bookmarks = position, bookmarks
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return 1."""
        return 1

    def render_line(self, y: int) -> Strip:
        """Render the timeline."""
        base, width = self.rich_style, self.size.width
        mark_count, cell_count = self._gathered
        if cell_count != width or len(self.marks) > mark_count + mark_count // 200:
            self._gathered = (len(self.marks), width)
            self._cells = gather(self.marks, width)
        line = draw(self.marks, self.position, width, bookmarks=self.bookmarks, cells=self._cells)
        return to_strip(line, self._styles(), base, width)

    def _styles(self) -> dict[str, Style]:
        def of(name: str) -> Style:
            return self.get_component_rich_style(f"timeline--{name}", partial=True)

        head, ahead = of("head"), Style(bold=False)
        styles = {"rail": of("rail"), "played": of("played"), "flag": of("flag")}
        for kind in GLYPHS:
            styles[kind] = of(kind)
            styles[f"{kind}-ahead"] = of(kind) + ahead
        return styles | {f"{name}-head": style + head for name, style in styles.items()}

    def on_click(self, event: events.Click) -> None:
        """Report what was clicked."""
        event.stop()
        self.post_message(self.Chosen(position_of(event.x, len(self.marks), self.size.width)))
