"""The status line: phase, model, cost and sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.timer import Timer

from alita_tui.console.actions import key_of
from alita_tui.console.session.providers import model_parts
from alita_tui.console.widgets.plain import Plain
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending
from alita_tui.view.spend import settled_tokens
from alita_tui.view.tasks import side_by_side

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PHASES = {
    "idle": "ready", "thinking": "thinking", "acting": "acting", "building": "building a tool",
    "running": "running a tool", "waiting": "waiting", "asking": "asks you",
    "parked": "parked", "closed": "closed",
}  # fmt: skip


class StatusLine(Plain):
    """One line, most important part first; the least important are dropped when it is narrow."""

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
        self._share: float | None = None
        self._waits_for = ""

    def advance(self, view: SessionView, waits_for: str = "") -> None:
        """Draw a newer view. `waits_for` is what a task waits for that was sent and is not begun; empty for none."""
        self._view, self._waits_for = view, waits_for
        turning = (
            self._motion
            and not self._replay
            and not view.live.holds
            and view.phase in ("thinking", "acting", "building", "running")
        )
        if turning and self._timer is None:
            self._timer = self.set_interval(0.12, self._turn)
        elif not turning and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._draw()

    def show_share_read(self, share: float | None) -> None:
        """Show which share of the session has been read while it is opened; None once it is open."""
        if share != self._share:
            self._share = share
            self._draw()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _turn(self) -> None:
        self._frame += 1
        self._draw()

    def _draw(self) -> None:
        if not self.size.width:
            return
        self.update(Content("  ").join(Content.styled(text, style) for text, style in self._fitting()))

    def _fitting(self) -> list[tuple[str, str]]:
        """Return the parts that fit, in order; the least important is dropped first."""
        parts = self._parts()
        while sum(len(text) + 2 for _rank, text, _style in parts) > self.size.width and len(parts) > 1:
            parts.remove(max(parts, key=lambda part: part[0]))
        return [(text, style) for _rank, text, style in parts]

    def _parts(self) -> list[tuple[int, str, str]]:
        """Return every part as (rank, text, style); a higher rank is dropped first."""
        view, spend = self._view, self._view.spend
        parts: list[tuple[int, str, str]] = []
        if self._share is not None:
            return [(1, f"opening … {self._share:.0%} read; its end is shown", "$alita-wait")]
        if not view.seq and not self._replay:
            return [(1, "opening …", "$alita-muted")]
        if view.recorded:
            parts.append((1, " RECORDED ", "bold $background on $alita-recorded"))
        spin = _FRAMES[self._frame % len(_FRAMES)] + " " if self._timer is not None else ""
        now = view.phase
        tone = "$alita-good" if not view.busy else "$primary"
        if now in ("waiting", "asking", "parked"):
            tone = "$alita-wait"
        step = f" · step {view.state.step}" if view.busy and view.state.step else ""
        phase = f"{spin}{_PHASES[now]}{step}"
        if self._waits_for and not view.busy:
            phase, tone = self._waits_for[:1].lower() + self._waits_for[1:], "$primary"
        elif view.live.holds:
            phase, tone = f"not continued yet {key_of('session.retry', self._keys)}", "$alita-wait"
        parts.append((2, phase, tone))
        if several := side_by_side(view):
            parts.append((3, several, "$primary"))
        if view.queue:
            paused = ", paused" if view.paused else ""
            key = f" {key_of('app.tasks', self._keys)}" if not self._replay else ""
            parts.append(
                (
                    4,
                    f"{len(view.queue)} queued{paused}{key}",
                    "$alita-wait" if view.paused else "$alita-muted",
                )
            )
        waiting = len(pending(view))
        if waiting and not self._replay:
            key = key_of("app.review", self._keys)
            parts.append((3, f"◈ {waiting} to review {key}", "bold $alita-wait"))
        if view.sandbox is not None and not view.sandbox.available:
            parts.append((3, "no sandbox", "bold $alita-bad"))
        limit = f" of ${spend.limit_usd:.2f}" if spend.limit_usd else ""
        assumed = "~" if spend.unpriced_calls else ""  # a price was assumed for calls without a known one
        near = spend.limit_usd is not None and spend.total_usd >= 0.8 * spend.limit_usd
        parts.append(
            (4, f"{assumed}${spend.total_usd:.2f}{limit}", "$alita-warn" if near else "$alita-muted")
        )
        parts += model_parts(view)
        if tokens := settled_tokens(spend):
            about = "~" if spend.estimated_tokens else ""
            parts.append((6, f"{about}{tokens / 1000:.1f}k tokens", "$alita-muted"))
        if view.sandbox is not None and view.sandbox.available:
            parts.append((7, "sandbox ready", "$alita-muted"))
        if view.live.unsaved:
            parts.append((1, " NOT SAVED ", "bold reverse $alita-bad"))
        elif view.seq and not self._replay:
            # Each event is recorded before it is published (see `Bus.emit`).
            parts.append((8, f"{view.seq} events saved", "$alita-muted"))
        return parts
