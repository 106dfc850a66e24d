"""The composer: a task, a message to the running one, or an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from alita_tui.console.actions import actions_of, bindings
from alita_tui.console.session.file_references import completion
from alita_tui.spine.text import counted, neutralise, one_line

if TYPE_CHECKING:
    # What is offered is imported when something is: the first paint needs the field alone.
    from collections.abc import Sequence

    from textual.timer import Timer

    from alita_tui.console.session.completions import Offer

_HANDLED = frozenset(("send", "send_next", "newline", "complete", "history", "editor"))
_LONG_LINES, _LONG_CHARACTERS = 8, 1_000
"""Lines and characters from which on a paste is shown as one line."""
BLINKS_SECONDS = 10.0
"""How long the cursor blinks after a key. Each blink paints the line: most of what an idle console would use."""


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

    @dataclass
    class Sent(Message):
        """Text was sent. `next_task`: queue it rather than steer the running task."""

        text: str
        next_task: bool = False

    @dataclass
    class Offered(Message):
        """The list over the composer changed; None: there is nothing to offer."""

        offer: Offer | None

    @dataclass
    class EarlierAsked(Message):
        """The entries of earlier sessions are wanted; asked once."""

    @dataclass
    class Moved(Message):
        """Move the cursor of the list."""

        by: int

    def __init__(self, *, id: str | None = None, blink: bool = True) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False)
        self.cursor_blink = self._blinks = blink
        self._idle_timer: Timer | None = None
        self._before: list[str] | None = None
        """Entries of earlier sessions; None until they are wanted."""
        self._history: list[str] = []
        """Entries of this session."""
        self._history_index = 0
        """Index of the entry that is shown; their number for none."""
        self._goes_back = False
        """Whether the entry before the first one of this session is to be shown once it is known."""
        self._unsent = ""
        """What was being written when an earlier entry was recalled."""
        self._pasted: dict[str, str] = {}
        """The line shown for a long paste → the paste."""
        self._offer: Offer | None = None
        self._list_index = 0
        self._list_moved = False
        """Whether the cursor of the list was moved, so that Enter takes the entry under it."""
        self._closed_for = ""
        """The text for which the list was closed."""
        self._leaving = ""
        """The text that was sent and stays until the screen shows it elsewhere; empty for none."""

    def on_mount(self) -> None:
        """Start the timer that stops the blinking."""
        if self._blinks:
            self._idle_timer = self.set_interval(BLINKS_SECONDS, self._stop_blinking)

    def _stop_blinking(self) -> None:
        self.cursor_blink = False

    @property
    def _draw_cursor(self) -> bool:
        """Whether the cursor is drawn: not while another screen, with a cursor of its own, lies on top."""
        return self.show_cursor and super()._draw_cursor

    def remember(self, tasks: tuple[str, ...]) -> None:
        """Use a resumed session's tasks as earlier entries."""
        if tasks and not self._history:
            self._history = list(tasks)
            self._history_index = len(self._entries)

    def recall(self, entries: Sequence[str]) -> None:
        """Use the tasks of earlier sessions as entries before those of this one."""
        self._before = [neutralise(entry) for entry in entries]
        self._history_index += len(self._before)
        if self._searching:
            self.on_text_area_changed()
        elif self._goes_back:
            self.action_earlier()

    @property
    def _entries(self) -> list[str]:
        """All earlier entries, the newest last."""
        return [*(self._before or ()), *self._history]

    def _ask_earlier(self) -> None:
        if self._before is None:
            self._before = []
            self.post_message(self.EarlierAsked())

    @property
    def full_text(self) -> str:
        """The text with each long paste in full."""
        return self._with_pastes(self.text)

    def _with_pastes(self, text: str) -> str:
        for mark, pasted in self._pasted.items():
            text = text.replace(mark, pasted)
        return text

    async def _on_paste(self, event: events.Paste) -> None:
        """Show a long paste as one line; it is sent, edited and saved in full."""
        event.prevent_default()
        event.stop()
        self.take_paste(event.text)

    def take_paste(self, text: str) -> None:
        """Insert what was pasted, here or while another part of the screen had the focus."""
        self.let_go()
        pasted = text.replace("\r\n", "\n").replace("\r", "\n")  # most terminals send carriage returns
        lines = pasted.count("\n") + 1
        if lines < _LONG_LINES and len(pasted) < _LONG_CHARACTERS:
            if result := self._replace_via_keyboard(pasted, *self.selection):
                self.move_cursor(result.end_location)
            return
        mark = f"[pasted {len(self._pasted) + 1}: {counted(lines, 'line')}, {len(pasted):,} characters]"
        self._pasted[mark] = pasted
        self.insert(mark)

    async def _on_key(self, event: events.Key) -> None:
        """Run the composer's own keys, which a text area would insert."""
        if self._idle_timer is not None:
            self._idle_timer.reset()
            self.cursor_blink = True
        self.let_go()
        self._goes_back = False
        if self._offer is not None and await self._list_key(event.key):
            event.stop()
            event.prevent_default()
            return
        actions = actions_of(self, event.key) & _HANDLED
        if actions:
            event.stop()
            event.prevent_default()
            await self.run_action(min(actions))
            return
        await super()._on_key(event)

    # --- the list ---------------------------------------------------------------------------

    async def _list_key(self, key: str) -> bool:
        """Handle a key of the list; return whether it was one."""
        if key in ("up", "down"):
            self.move_list(-1 if key == "up" else 1)
        elif key == "escape":
            self.close_list()
        elif key == "tab" or (
            key == "enter" and (self._list_moved or self._searching or self._begun_command)
        ):
            self.take(self._list_index)
        else:
            return False
        return True

    @property
    def lists(self) -> str:
        """What the open list holds: `command`, `file` or `earlier`; empty if it is closed."""
        return self._offer.kind if self._offer is not None else ""

    @property
    def _searching(self) -> bool:
        return self._offer is not None and self._offer.kind == "earlier"

    @property
    def _begun_command(self) -> bool:
        """Whether the text is part of the name of the command that the list marks."""
        offer = self._offer
        return offer is not None and offer.kind == "command" and self.text not in ("/", *offer.texts)

    def move_list(self, by: int) -> None:
        """Move the cursor of the list."""
        if self._offer is not None:
            self._list_index = min(max(self._list_index + by, 0), max(len(self._offer.picks) - 1, 0))
            self._list_moved = True
            self.post_message(self.Moved(by))

    def close_list(self) -> None:
        """Close the list until the text changes; after a search restore the unsent text."""
        if self._searching:
            self._set_offer(None)
            self._show_text(self._unsent)
        self._closed_for = self.text
        self._set_offer(None)

    def take(self, index: int) -> None:
        """Insert the list's entry at an index."""
        offer = self._offer
        if offer is None or not 0 <= index < len(offer.texts):
            return
        text = offer.texts[index]
        self._set_offer(None)
        if offer.kind == "file":
            self.insert(text)
        else:
            self._show_text(text)
            self._closed_for = self.text
            self._set_offer(None)

    def _set_offer(self, offer: Offer | None) -> None:
        if offer != self._offer:
            self._offer, self._list_index, self._list_moved = offer, 0, False
            self.post_message(self.Offered(offer))

    def on_text_area_changed(self) -> None:
        """Offer the entries that match the text."""
        if self._searching:
            from alita_tui.console.session.completions import earlier

            self._set_offer(earlier(self._entries, self.text))
            return
        if self.text == self._closed_for:
            self._set_offer(None)
            return
        self._closed_for = ""
        if "/" not in self.text and "@" not in self.text:
            self._set_offer(None)
            return
        from alita_tui.console.session.completions import offer

        row, column = self.cursor_location
        self._set_offer(offer(self.text, self.document.get_line(row)[:column]))

    def action_history(self) -> None:
        """Search earlier entries."""
        from alita_tui.console.session.completions import earlier

        self._unsent = self.text
        self._ask_earlier()
        self._set_offer(earlier(self._entries, self.text))

    def action_editor(self) -> None:
        """Write in the editor."""
        from alita_tui.console.review.editor import NoEditor, edit

        try:
            written = edit("prompt", self.full_text, ".md", self.app.suspend)
        except NoEditor as error:
            self.app.notify(one_line(str(error)), severity="warning")
            return
        self._show_text(written.rstrip("\n"))
        self.app.refresh()

    # --- the text ------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Complete the path of a file behind an @; elsewhere leave the composer."""
        row, column = self.cursor_location
        completed = completion(self.document.get_line(row)[:column])
        if completed is None:
            self.screen.focus_next()
        else:
            self._closed_for = ""
            self.insert(completed.rest)

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
        elif self._history_index > 0:
            if self._history_index == len(self._entries):
                self._unsent = self.text
            self._history_index -= 1
            self._show_text(self._entries[self._history_index])
        elif self._before is None:
            self._goes_back = True
            self._ask_earlier()

    def action_later(self) -> None:
        """Recall the next entry, if the cursor is in the last line."""
        if not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif self._history_index < len(self._entries):
            self._history_index += 1
            self._show_text([*self._entries, self._unsent][self._history_index])

    def draft(self, text: str) -> None:
        """Show a text to edit and send; the current text becomes an earlier entry."""
        self.let_go()
        if self.text.strip():
            self._history.append(self.text)
        self._history_index = len(self._entries)
        self._show_text(text)

    def restore(self, text: str) -> None:
        """Show a saved unsent text; if something is being written already, add it as an earlier entry instead."""
        if not self.text:
            self._closed_for = text
            self._show_text(text)
        elif text and text != self.text:
            self._history.append(text)
            self._history_index = len(self._entries)

    def put_back(self, text: str) -> None:
        """Show a text again that could not be sent, before what was typed since."""
        if self._leaving:
            self._leaving = ""
            return
        if self._history[-1:] == [text]:
            self._history.pop()
        self._history_index = len(self._entries)
        self._show_text(f"{text}\n{self.text}" if self.text else text)

    def let_go(self) -> None:
        """Drop the text that was sent. It stays until then, so that no frame is without it."""
        if not self._leaving:
            return
        self._history.append(self._leaving)
        self._history_index = len(self._entries)
        self._leaving = self.text = ""
        self._pasted.clear()

    def take_away(self) -> None:
        """Empty the field; the text becomes an earlier entry."""
        self._leaving = self.text
        self.let_go()

    def _show_text(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _send(self, *, next_task: bool) -> None:
        text = self.full_text.strip()
        if not text:
            return
        self._leaving = text
        self._closed_for = self.text
        self._set_offer(None)
        self.post_message(self.Sent(text, next_task=next_task))
