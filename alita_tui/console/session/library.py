"""The library pane: tools by name; Enter opens one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from alita_tui.console.actions import bindings
from alita_tui.console.messages import CopyAsked, ToolAsked
from alita_tui.console.widgets.styled_text import Line, at_words, spread, to_strip, wrap
from alita_tui.console.widgets.styled_view import StyledView
from alita_tui.events import ToolCard
from alita_tui.spine.text import counted, one_line
from alita_tui.view.model import SessionView

STATES = {
    "trusted": ("●", "good"), "provisional": ("◐", "wait"), "draft": ("○", "muted"), "stale": ("◌", "muted"),
    "archived": ("◌", "muted"), "revoked": ("✗", "bad"), "quarantined": ("✗", "bad"),
}  # fmt: skip


class Library(StyledView, can_focus=True):
    """Two lines per tool: name and figures, then its description."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("pane")
    STYLES = ("muted", "good", "warn", "bad", "wait", "name", "cursor")
    DEFAULT_CSS = """
    Library {
        background: $background; color: $foreground; scrollbar-size-vertical: 1; overflow-x: hidden;
    }
    """

    class FindAsked(Message):
        """Open the filter."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._all: tuple[ToolCard, ...] = ()
        self._cards: tuple[ToolCard, ...] = ()
        """The tools that match the filter."""
        self._filter = ""
        self._touched = ""
        self._cursor = 0

    def advance(self, view: SessionView) -> None:
        """Draw a newer view; scroll to the tool that was found, built or run last."""
        if view.library == self._all and view.touched == self._touched:
            return
        moved = view.touched != self._touched
        self._all, self._touched = view.library, view.touched
        self._apply_filter()
        names: list[str] = [card.name for card in self._cards]
        if moved and self._touched in names and not self.has_focus:
            self._cursor = names.index(self._touched)
            self._show_cursor()

    def filter(self, text: str) -> int:
        """Show the tools whose name or description contains every word; return how many there are."""
        self._filter = text
        self._apply_filter()
        return len(self._cards)

    def _apply_filter(self) -> None:
        words = self._filter.casefold().split()
        chosen = self._cards[self._cursor].name if self._cursor < len(self._cards) else ""
        self._cards = tuple(
            card
            for card in self._all
            if all(word in f"{card.name} {card.description}".casefold() for word in words)
        )
        names: list[str] = [card.name for card in self._cards]
        self._cursor = names.index(chosen) if chosen in names else 0
        self.refresh_bindings()
        self._fit()

    def _fit(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, max(2 * len(self._cards), 1))
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new width."""
        self._fit()

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        width, base = self.scrollable_content_region.width, self.rich_style
        index, part = divmod(y + self.scroll_offset.y, 2)
        if not self._cards:
            message = "No tool fits." if self._all else "No tools yet. alita builds one when a task needs it."
            lines = wrap(message, max(width, 10))
            if y >= len(lines):
                return Strip.blank(width, base)
            return to_strip(((lines[y], "muted"),), self._styles, base, width)
        if index >= len(self._cards):
            return Strip.blank(width, base)
        card = self._cards[index]
        if index == self._cursor and self.has_focus:
            base = base + self._styles["cursor"]
        return to_strip(self._line(card, part, width), self._styles, base, width)

    def _line(self, card: ToolCard, part: int, width: int) -> Line:
        glyph, style = STATES[card.state]
        if part:
            return (("  ", ""), (at_words(one_line(card.description, 400), width - 2), "muted"))
        name = "wait" if card.name == self._touched else "name"
        runs = counted(card.runs, "run") if card.runs else "not run yet"
        if card.failures:
            runs += f", {card.failures} ✗"
        state = f" {card.state}" if card.state in ("stale", "archived", "revoked", "quarantined") else ""
        return spread(
            (
                (f"{glyph} ", style),
                (one_line(card.name), name),
                (f" v{card.version}", "muted"),
                (state, style),
            ),
            (runs, "muted"),
            width,
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Take the keys of a tool only while there is one."""
        if action in ("open", "yank") and not self._cards:
            return False
        return super().check_action(action, parameters)

    def _show_cursor(self) -> None:
        top = 2 * self._cursor
        if top < self.scroll_y:
            self.scroll_to(y=top, animate=False, immediate=True)
        elif top + 2 > self.scroll_y + self.size.height:
            self.scroll_to(y=top + 2 - self.size.height, animate=False, immediate=True)
        self.refresh()

    def _move(self, index: int) -> None:
        self._cursor = min(max(index, 0), max(len(self._cards) - 1, 0))
        self._show_cursor()

    def spots(self) -> Iterator[tuple[int, Callable[[], None]]]:
        """Yield the line of each tool on screen, and what selects it."""
        top = round(self.scroll_y)
        for index in range((top + 1) // 2, len(self._cards)):
            if (line := 2 * index - top) >= self.size.height:
                return
            yield line, partial(self._move, index)

    def on_click(self, event: events.Click) -> None:
        """A click selects, a second one opens."""
        index = (event.y + self.scroll_offset.y) // 2
        if index == self._cursor:
            self.action_open()
        self._move(index)

    def action_up(self) -> None:
        """One tool up."""
        self._move(self._cursor - 1)

    def action_down(self) -> None:
        """One tool down."""
        self._move(self._cursor + 1)

    def action_page(self, direction: int) -> None:
        """A page of tools."""
        self._move(self._cursor + direction * max(self.size.height // 2 - 1, 1))

    def action_first(self) -> None:
        """The first tool."""
        self._move(0)

    def action_last(self) -> None:
        """The last tool."""
        self._move(len(self._cards) - 1)

    def action_open(self) -> None:
        """Open the tool."""
        if self._cursor < len(self._cards):
            self.post_message(ToolAsked(self._cards[self._cursor].name))

    def action_find(self) -> None:
        """Open the filter."""
        self.post_message(self.FindAsked())

    def action_yank(self) -> None:
        """Copy name and digest."""
        if self._cursor < len(self._cards):
            card = self._cards[self._cursor]
            self.post_message(CopyAsked(f"{card.name} v{card.version} sha256:{card.digest}"))
