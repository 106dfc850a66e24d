"""The task that was just sent: on screen at once, until the card of its own is there and something comes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from alita_tui.console.session import card_lines, trace_lines
from alita_tui.console.session.card_parts import Drawn
from alita_tui.console.session.trace_drawing import NOTHING_SENT, Sent
from alita_tui.console.session.trace_loading import TraceLoading
from alita_tui.console.session.trace_messages import Refused
from alita_tui.spine.text import neutralise, one_line
from alita_tui.view.model import SessionView, TraceRow


class TraceSent(TraceLoading):
    """Base of the trace."""

    def _follow_again(self) -> None:
        raise NotImplementedError

    def expect(self, text: str, waits_for: str, files: tuple[str, ...] = ()) -> None:
        """Show a task that was just sent with these files, and what it waits for, until the engine takes it up."""
        now = datetime.now(UTC)
        row = TraceRow(
            seq=0, at=now, step=0, span="", kind="task", title=one_line(text), text=neutralise(text)
        )
        self._sent = Sent(row, waits_for, 0, tuple(Path(file).name for file in files))
        self._follow_again()
        if self._layout.width:
            self._place()
            # The next layout would allow it as well, but only the frame after it would show the end.
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True, force=True)

    def wait_for(self, waits_for: str) -> None:
        """Show what the task that was sent waits for now; turn the spinner."""
        if self._sent.waits_for:
            self._sent = self._sent._replace(waits_for=waits_for, frame=self._sent.frame + 1)
            if self._layout.width:
                self._place()

    @property
    def expects(self) -> bool:
        """Whether a task was sent of which nothing has come yet."""
        return bool(self._sent.waits_for)

    def _take_up(self, view: SessionView) -> None:
        """Replace what was sent by its card; drop the spinner once something comes of it. Report a refusal."""
        sent = self._sent
        if not sent.waits_for:
            return
        new = list(view.trace.since(len(self._layout.rows)))
        if any(row.kind == "task" for row in new):
            begun = new[-1].kind == "task" and view.busy
            self._sent = sent._replace(row=None, files=()) if begun else NOTHING_SENT
        elif any(row.tone == "bad" for row in new):
            self._sent = NOTHING_SENT
            if sent.row is not None and not view.busy:
                self.post_message(Refused(str(sent.row.detail)))
        elif sent.row is None and (new or not view.busy):
            self._sent = NOTHING_SENT
        elif sent.files:
            recorded = sum(row.kind == "file" and row.meta == "given" for row in new)
            self._sent = sent._replace(files=sent.files[recorded:])

    def _expected_lines(self) -> list[Drawn]:
        """Return the lines of the task that was sent, and of what it waits for."""
        sent, width = self._sent, self._layout.width
        deck, build = self._layout.deck, self._layout.build
        card = card_lines.sent(deck, sent.row, sent.files, width, build) if sent.row is not None else []
        if not sent.waits_for or (self._after and not card):
            return card
        return [*card, Drawn(-1, trace_lines.waiting(sent.waits_for, sent.frame, width))]
