"""Words that can be ticked with Space or a click. Enter sends what is ticked, as in the field beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from alita_tui.console.input.judged_widget import JudgedWidget
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.text import one_line


class Ticks(JudgedWidget, Plain, can_focus=True):
    """Words on as few lines as fit."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", show=False),
        Binding("enter", "done", show=False),
        Binding("left,up,k", "move(-1)", show=False),
        Binding("right,down,j", "move(1)", show=False),
    ]
    DEFAULT_CSS = """
    Ticks { height: auto; max-height: 8; overflow-y: auto; color: $alita-muted; }
    """

    class Changed(Message):
        """A word was ticked or unticked."""

    class Done(Message):
        """Enter was pressed on the words."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words: tuple[str, ...] = ()
        self._ticked: set[str] = set()
        self._cursor_index = 0
        self._spans: list[tuple[int, int, int]] = []
        """Line, first and last column of each word."""

    @property
    def ticked(self) -> tuple[str, ...]:
        """The ticked words, in order."""
        return tuple(word for word in self._words if word in self._ticked)

    def offer(self, words: Sequence[str], ticked: Collection[str] = ()) -> None:
        """Show these words, some of them ticked."""
        self._words, self._ticked, self._cursor_index = tuple(words), set(ticked), 0
        self._draw()

    def action_tick(self) -> None:
        """Toggle the word at the cursor."""
        if self._words:
            self._ticked ^= {self._words[self._cursor_index]}
            self._draw()
            self.post_message(self.Changed())

    def action_done(self) -> None:
        """Report that the choice is complete. The Enter is judged like any verdict (`GuardedScreen.judge`)."""
        self.post_message(self.Done())

    def action_move(self, by: int) -> None:
        """Move the cursor to the previous or next word."""
        if self._words:
            self._cursor_index = (self._cursor_index + by) % len(self._words)
            self._draw()

    def on_click(self, event: events.Click) -> None:
        """Toggle the clicked word."""
        for number, (line, start, end) in enumerate(self._spans):
            if event.y == line and start <= event.x < end:
                self._cursor_index = number
                self.action_tick()
                return

    def on_focus(self) -> None:
        """Show the cursor."""
        self._draw()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self._draw()

    def on_resize(self) -> None:
        """Wrap for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = max(self.size.width, 20)
        pieces: list[tuple[str, str]] = []
        self._spans = []
        line = column = 0
        for number, word in enumerate(self._words):
            ticked = word in self._ticked
            text = f"{'▣' if ticked else '□'} {one_line(word, width - 4)}"
            if column and column + 2 + cell_len(text) > width:
                pieces.append(("\n", ""))
                line, column = line + 1, 0
            elif column:
                pieces.append(("  ", ""))
                column += 2
            cursor = " reverse" if self.has_focus and number == self._cursor_index else ""
            pieces.append((text, f"{'$alita-warn' if ticked else '$alita-muted'}{cursor}"))
            self._spans.append((line, column, column + cell_len(text)))
            column += cell_len(text)
        self.update(Content.assemble(*pieces))
