"""The status line: who thinks, what it does, what it costs, what holds it, what to press."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.timer import Timer

from alita_tui.console.actions import key_of
from alita_tui.console.widgets.plain import Plain
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PHASES = {
    "idle": "ready", "thinking": "thinking", "acting": "acting", "building": "building a tool",
    "running": "running a tool", "waiting": "waits for your verdict", "asking": "asks you",
    "parked": "parked", "closed": "closed",
}  # fmt: skip


class StatusLine(Plain):
    """One line; what matters most stands first, and the keys give way when it is narrow."""

    DEFAULT_CSS = """
    StatusLine {
        height: 1; padding: 0 1; background: $panel; color: $alita-muted; text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(
        self, *, keys: Mapping[str, str], motion: bool = True, replay: bool = False, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._keys = keys
        self._motion = motion
        self._replay = replay
        self._view = SessionView()
        self._frame = 0
        self._timer: Timer | None = None

    def advance(self, view: SessionView) -> None:
        """Draw a newer view."""
        self._view = view
        turning = (
            self._motion and not self._replay and view.phase in ("thinking", "acting", "building", "running")
        )
        if turning and self._timer is None:
            self._timer = self.set_interval(0.12, self._turn)
        elif not turning and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._draw()

    def on_resize(self) -> None:
        """The width is another."""
        self._draw()

    def _turn(self) -> None:
        self._frame += 1
        self._draw()

    def _draw(self) -> None:
        view = self._view
        parts: list[tuple[str, str]] = []
        if view.recorded:
            parts.append((" RECORDED ", "bold $background on $alita-recorded"))
        parts.append((str(view.model) or "no model", "$foreground"))
        busy = view.phase not in ("idle", "parked", "closed")
        spin = _FRAMES[self._frame % len(_FRAMES)] + " " if self._timer is not None else ""
        tone = (
            "$alita-wait"
            if view.phase in ("waiting", "asking", "parked")
            else "$primary"
            if busy
            else "$alita-good"
        )
        step = f" · step {view.step}" if busy and view.step else ""
        parts.append((f"{spin}{_PHASES[view.phase]}{step}", tone))
        spend = view.spend
        limit = f" of ${spend.limit_usd:.2f}" if spend.limit_usd else ""
        unpriced = " + unpriced" if spend.unpriced_calls else ""
        parts.append((f"${spend.total_usd:.2f}{limit}{unpriced}", "$alita-muted"))
        tokens = spend.input_tokens + spend.output_tokens
        if tokens:
            parts.append((f"{tokens / 1000:.1f}k tokens", "$alita-muted"))
        if view.sandbox is not None:
            parts.append(
                ("sandbox ok", "$alita-muted") if view.sandbox.available else ("no sandbox", "$alita-bad")
            )
        waiting = len(pending(view))
        if waiting and not self._replay:
            parts.append((f"{waiting} to review {key_of('app.review', self._keys)}", "bold $alita-wait"))
        left = Content("  ").join(Content.styled(text, style) for text, style in parts)
        hints = [("app.help", "help"), ("app.palette", "commands"), ("app.quit", "quit")]
        right = Content("  ".join(f"{key_of(one, self._keys)} {word}" for one, word in hints))
        room = self.size.width - 2 - left.cell_length - right.cell_length
        self.update(Content.assemble(left, " " * room, right) if room > 1 else left)
