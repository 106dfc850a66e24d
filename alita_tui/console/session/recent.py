"""The newest sessions on an empty first screen, each with why one would go back to it; Enter opens one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from alita_tui.console.messages import SessionAsked
from alita_tui.console.session.suggestions import Suggestion
from alita_tui.console.sessions.catalog import SessionLine
from alita_tui.console.widgets.figures import ago
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.spine.text import counted, one_line
from alita_tui.view.model import SessionView

MOST = 3
_WIDE = 84
_OUTCOMES = {
    "answered": ("●", "done", "$alita-good"),
    "failed": ("✗", "failed", "$alita-bad"),
    "stuck": ("✗", "went in circles", "$alita-bad"),
    "sandbox": ("✗", "no sandbox", "$alita-bad"),
    "budget": ("✗", "out of budget", "$alita-warn"),
    "step_limit": ("✗", "out of steps", "$alita-warn"),
    "interrupted": ("○", "stopped by you", "$alita-muted"),
    "rejected": ("○", "build rejected", "$alita-muted"),
    "parked": ("◈", "waits for you", "$alita-wait"),
    "": ("◌", "not finished", "$alita-wait"),
}


def worth_reopening(lines: Sequence[SessionLine], current: str) -> tuple[SessionLine, ...]:
    """Return the sessions that are worth continuing, newest first."""
    candidates = [
        line
        for line in lines
        if line.tasks
        and line.readable
        and not (line.archived or line.imported or line.state in ("open", "damaged"))
        and line.session_id != current
    ]
    return tuple(sorted(candidates, key=lambda line: line.active, reverse=True)[:MOST])


def description(line: SessionLine, now: datetime) -> tuple[str, str, str]:
    """Return a session's mark, its outcome and age in words, and the style of both."""
    mark, why, style = _OUTCOMES.get(line.outcome, _OUTCOMES["answered"])
    if line.waiting:
        mark, style = "◈", "$alita-wait"
        why = f"{counted(len(line.waiting), 'build')} wait{'s' if len(line.waiting) == 1 else ''}"
    age = ago((now - line.active).total_seconds())
    return mark, f"{why} · {age} ago", style


class RecentSession(Suggestion):
    """A session that can be continued."""

    def __init__(self, line: SessionLine, now: datetime) -> None:
        super().__init__(one_line(line.title or "Untitled", 200))
        self._line = line
        self._now = now

    def fit(self) -> None:
        """Draw title, state and age for the width."""
        width = min(self.size.width, _WIDE)
        mark, right, style = description(self._line, self._now)
        title = at_words(self.suggested, max(width - len(right) - 4, 8))
        left = Content.assemble((f"{mark} ", style), title)
        gap = " " * max(width - left.cell_length - len(right), 2)
        self.update(Content.assemble(left, gap, (right, style if mark == "◈" else "$alita-muted")))

    def action_choose(self) -> None:
        """Open it."""
        self.post_message(SessionAsked(self._line.session_id))


class Recent(Vertical):
    """The sessions, while the session on screen is empty."""

    DEFAULT_CSS = """
    Recent { height: auto; padding: 1 1 0 2; background: $background; }
    Recent > .heading { height: 1; padding: 0 1; color: $alita-muted; }
    Recent > Suggestion { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    Recent > Suggestion:hover { background: $panel; }
    Recent > Suggestion:focus { background: $alita-cursor; text-style: bold; }
    """

    def __init__(self, lines: tuple[SessionLine, ...], total: int, key: str, now: datetime) -> None:
        """`total` is the number of all sessions, `key` the key that lists them."""
        super().__init__(id="recent")
        self._lines = lines
        count = counted(total, "session") if total > 1 else "sessions"
        self._heading = f"Continue   {key} all {count}"
        self._now = now

    def compose(self) -> ComposeResult:
        """Heading and sessions."""
        yield Plain(self._heading, classes="heading")
        for line in self._lines:
            yield RecentSession(line, self._now)

    def advance(self, view: SessionView, *, sent: bool) -> None:
        """Hide once there is a task."""
        self.display = not view.busy and not sent and not len(view.tasks)
