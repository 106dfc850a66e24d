"""The composer: a task, a message to the running one, or an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from alita_tui.console.actions import actions_of, bindings
from alita_tui.console.session.attaching import completion
from alita_tui.spine.text import counted, one_line

if TYPE_CHECKING:
    # What is offered is imported when something is: the first paint needs the field alone.
    from textual.timer import Timer

    from alita_tui.console.session.completing import Offer

_MINE = frozenset(("send", "send_next", "newline", "complete", "history", "editor"))
_LONG_LINES, _LONG_CHARACTERS = 8, 1_000
"""From which on what is pasted stands as one line."""
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

    class Sent(Message):
        """Text was sent. `next_task`: queue it rather than steer the running task."""

        def __init__(self, text: str, *, next_task: bool = False) -> None:
            super().__init__()
            self.text = text
            self.next_task = next_task

    class Offered(Message):
        """What can be taken changed; None where nothing can."""

        def __init__(self, offer: Offer | None) -> None:
            super().__init__()
            self.offer = offer

    class Moved(Message):
        """The cursor of the list is to move."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, *, id: str | None = None, blink: bool = True) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False)
        self.cursor_blink = self._blinks = blink
        self._quiet: Timer | None = None
        self._history: list[str] = []
        self._place = 0
        self._unsent = ""
        """What was being written when an earlier entry was recalled."""
        self._pasted: dict[str, str] = {}
        """What stands for a long paste → the paste."""
        self._offer: Offer | None = None
        self._at = 0
        self._chosen = False
        """Whether the cursor of the list was moved, so that Enter takes what it is on."""
        self._closed_for = ""
        """The text for which the list was closed."""

    def on_mount(self) -> None:
        """Begin to count how long nothing was typed."""
        if self._blinks:
            self._quiet = self.set_interval(BLINKS_SECONDS, self._stand_still)

    def _stand_still(self) -> None:
        self.cursor_blink = False

    @property
    def _draw_cursor(self) -> bool:
        """Whether the cursor is drawn: not while another screen, with a cursor of its own, lies on top."""
        return self.show_cursor and super()._draw_cursor

    def remember(self, tasks: tuple[str, ...]) -> None:
        """Use a resumed session's tasks as earlier entries."""
        if tasks and not self._history:
            self._history = list(tasks)
            self._place = len(self._history)

    @property
    def whole(self) -> str:
        """What is written, with what was pasted."""
        return self._whole(self.text)

    def _whole(self, text: str) -> str:
        for mark, pasted in self._pasted.items():
            text = text.replace(mark, pasted)
        return text

    async def _on_paste(self, event: events.Paste) -> None:
        """Show a long paste as one line; sending it, editing it and keeping it take the whole."""
        pasted = event.text
        lines = pasted.count("\n") + 1
        if lines < _LONG_LINES and len(pasted) < _LONG_CHARACTERS:
            return  # the text area's own handler runs next
        event.prevent_default()
        event.stop()
        mark = f"[pasted {len(self._pasted) + 1}: {counted(lines, 'line')}, {len(pasted):,} characters]"
        self._pasted[mark] = pasted
        self.insert(mark)

    async def _on_key(self, event: events.Key) -> None:
        """Run our keys, which a text area would insert."""
        if self._quiet is not None:
            self._quiet.reset()
            self.cursor_blink = True
        if self._offer is not None and await self._list_key(event.key):
            event.stop()
            event.prevent_default()
            return
        mine = actions_of(self, event.key) & _MINE
        if mine:
            event.stop()
            event.prevent_default()
            await self.run_action(min(mine))
            return
        await super()._on_key(event)

    # --- the list ---------------------------------------------------------------------------

    async def _list_key(self, key: str) -> bool:
        """Return whether a key was the list's."""
        if key in ("up", "down"):
            self.move_list(-1 if key == "up" else 1)
        elif key == "escape":
            self.close_list()
        elif key == "tab" or (key == "enter" and (self._chosen or self._searching)):
            self.take(self._at)
        else:
            return False
        return True

    @property
    def _searching(self) -> bool:
        return self._offer is not None and self._offer.kind == "earlier"

    def move_list(self, by: int) -> None:
        """Move the cursor of the list."""
        if self._offer is not None:
            self._at = min(max(self._at + by, 0), max(len(self._offer.picks) - 1, 0))
            self._chosen = True
            self.post_message(self.Moved(by))

    def close_list(self) -> None:
        """Offer nothing until something else is written; a search gives back what stood there."""
        if self._searching:
            self._offer_now(None)
            self._bring(self._unsent)
        self._closed_for = self.text
        self._offer_now(None)

    def take(self, index: int) -> None:
        """Take what the list has at a place."""
        offer = self._offer
        if offer is None or not 0 <= index < len(offer.takes):
            return
        taken = offer.takes[index]
        self._offer_now(None)
        if offer.kind == "file":
            self.insert(taken)
        else:
            self._bring(taken)
            self._closed_for = self.text
            self._offer_now(None)

    def _offer_now(self, found: Offer | None) -> None:
        if found != self._offer:
            self._offer, self._at, self._chosen = found, 0, False
            self.post_message(self.Offered(found))

    def on_text_area_changed(self) -> None:
        """Offer what fits."""
        if self._searching:
            from alita_tui.console.session.completing import earlier

            self._offer_now(earlier(self._history, self.text))
            return
        if self.text == self._closed_for:
            self._offer_now(None)
            return
        self._closed_for = ""
        if "/" not in self.text and "@" not in self.text:
            self._offer_now(None)
            return
        from alita_tui.console.session.completing import offer

        row, column = self.cursor_location
        self._offer_now(offer(self.text, self.document.get_line(row)[:column]))

    def action_history(self) -> None:
        """Search what was written earlier."""
        from alita_tui.console.session.completing import earlier

        self._unsent = self.text
        self._offer_now(earlier(self._history, self.text))

    def action_editor(self) -> None:
        """Write in the editor."""
        from alita_tui.console.review.editor import NoEditor, edit

        try:
            written = edit("prompt", self.whole, ".md", self.app.suspend)
        except NoEditor as error:
            self.app.notify(one_line(str(error)), severity="warning", markup=False)
            return
        self._bring(written.rstrip("\n"))
        self.app.refresh()

    # --- what is written ----------------------------------------------------------------------

    def action_complete(self) -> None:
        """Complete the path of a file behind an @; elsewhere leave the composer."""
        row, column = self.cursor_location
        found = completion(self.document.get_line(row)[:column])
        if found is None:
            self.screen.focus_next()
        else:
            self._closed_for = ""
            self.insert(found.rest)

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

    def restore(self, text: str) -> None:
        """Show what was written before and not sent; what is being written already goes before it."""
        if not self.text:
            self._closed_for = text
            self._bring(text)
        elif text and text != self.text:
            self._history.append(text)
            self._place = len(self._history)

    def put_back(self, text: str) -> None:
        """Show a text again that could not be sent."""
        self._history.pop()
        self._place = len(self._history)
        self._bring(text)

    def _bring(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _send(self, *, next_task: bool) -> None:
        text = self.whole.strip()
        if not text:
            return
        self._history.append(text)
        self._place = len(self._history)
        self.text = ""
        self._pasted.clear()
        self._offer_now(None)
        self.post_message(self.Sent(text, next_task=next_task))
