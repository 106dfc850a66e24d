"""The composer: a task, a message to the running one, or an answer."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from alita_tui.console.actions import actions_of, bindings
from alita_tui.console.session.attaching import completion
from alita_tui.spine.text import one_line

_MINE = frozenset(("send", "send_next", "newline", "complete"))


class Composer(TextArea):
    """Enter sends; Shift+Enter or Ctrl+J begins a line; up and down recall earlier entries."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("composer")
    DEFAULT_CSS = """
    Composer {
        height: auto; min-height: 1; max-height: 8; border: none; padding: 0 1;
        background: $surface; color: $foreground; scrollbar-size-vertical: 1;
        & .text-area--cursor-line { background: $surface; }
        & .text-area--placeholder { color: $alita-muted; }
        &:focus { border: none; }
    }
    """

    class Sent(Message):
        """Text was sent. `next_task`: queue it rather than steer the running task."""

        def __init__(self, text: str, *, next_task: bool = False) -> None:
            super().__init__()
            self.text = text
            self.next_task = next_task

    def __init__(self, *, id: str | None = None, blink: bool = True) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False)
        self.cursor_blink = blink
        self._history: list[str] = []
        self._place = 0
        self._unsent = ""
        """What was being written when an earlier entry was recalled."""

    def remember(self, tasks: tuple[str, ...]) -> None:
        """Use a resumed session's tasks as earlier entries."""
        if tasks and not self._history:
            self._history = list(tasks)
            self._place = len(self._history)

    async def _on_key(self, event: events.Key) -> None:
        """Run our keys, which a text area would insert."""
        mine = actions_of(self, event.key) & _MINE
        if mine:
            event.stop()
            event.prevent_default()
            await self.run_action(min(mine))
            return
        await super()._on_key(event)

    def action_complete(self) -> None:
        """Complete the path of a file behind an @; elsewhere leave the composer."""
        row, column = self.cursor_location
        found = completion(self.document.get_line(row)[:column])
        if found is None:
            self.screen.focus_next()
            return
        self.insert(found.rest)
        if found.options:
            names = "  ".join(one_line(name, 60) for name in found.options)
            self.app.notify(names, title="Files that fit", markup=False)

    def action_send(self) -> None:
        """Send the text."""
        self._send(next_task=False)

    def action_send_next(self) -> None:
        """Queue the text as the next task."""
        self._send(next_task=True)

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def action_earlier(self) -> None:
        """Recall the previous entry, if the cursor is in the first line."""
        if not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif self._place > 0:
            if self._place == len(self._history):
                self._unsent = self.text
            self._place -= 1
            self._bring(self._history[self._place])

    def action_later(self) -> None:
        """Recall the next entry, if the cursor is in the last line."""
        if not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif self._place < len(self._history):
            self._place += 1
            self._bring(self._history[self._place] if self._place < len(self._history) else self._unsent)

    def draft(self, text: str) -> None:
        """Show a text to be changed and sent; what was being written is an earlier entry."""
        if self.text.strip():
            self._history.append(self.text)
        self._place = len(self._history)
        self._bring(text)

    def put_back(self, text: str) -> None:
        """Show a text again that could not be sent."""
        self._history.pop()
        self._place = len(self._history)
        self._bring(text)

    def _bring(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _send(self, *, next_task: bool) -> None:
        text = self.text.strip()
        if not text:
            return
        self._history.append(text)
        self._place = len(self._history)
        self.text = ""
        self.post_message(self.Sent(text, next_task=next_task))
