"""The controls of a replay. They move a player over what is recorded; there is nothing else they could do."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from alita_tui.console.actions import bindings
from alita_tui.console.live_keys import shown_keys
from alita_tui.console.player import Player
from alita_tui.console.widgets.inked import cut
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.timeline import GLYPHS, Timeline
from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark

STOPS: frozenset[Mark] = frozenset({"build", "approval", "error"})
"""Where the jump to a mark stops."""


def clock_time(seconds: float) -> str:
    """Seconds as `0:42`, `12:05` or `3:10:00`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def spoken(seconds: float) -> str:
    """A stretch of time as `12 s`, `4 m 12 s` or `3 h 10 m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} m {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} m"


class ReplayBar(Vertical, can_focus=True, can_focus_children=True):
    """Three lines: where the replay stands, the timeline, the keys or the search."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("replay"),
        Binding("escape", "leave_search", show=False),
        Binding("question_mark", "app.help", show=False),
    ]
    DEFAULT_CSS = """
    ReplayBar {
        height: 3;
        background: $panel;
        padding: 0 1;
        #keys { height: 1; color: $alita-muted; }
        #state { height: 1; }
        Input { height: 1; border: none; padding: 0 1; background: $alita-cursor; display: none; }
        Input:focus { border: none; background-tint: transparent; }
        &.-searching Input { display: block; }
        &.-searching #keys { display: none; }
    }
    """

    class Jumped(Message):
        """The player went elsewhere; the fold goes on from `view`."""

        def __init__(self, player: Player) -> None:
            super().__init__()
            self._player = player

        @property
        def view(self) -> SessionView:
            """The view to go on from, as it is when this is read: it fits what the player yields next."""
            return self._player.view

    def __init__(self, player: Player, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._player = player
        self._needle = ""
        self._note = ""
        """What the last control had to say, such as that there is no further hit."""

    def compose(self) -> ComposeResult:
        """State, timeline, keys and search."""
        yield Plain(id="state")
        yield Timeline(self._player.marks, id="timeline")
        yield Plain(id="keys")
        yield Input(compact=True, placeholder="search what was said and done", id="search")

    def on_mount(self) -> None:
        """Draw where it stands; the speed and the play state change without an event too."""
        self._draw()

    def on_resize(self) -> None:
        """Draw for the width there is."""
        self._draw()

    def advance(self, view: SessionView) -> None:
        """The session on screen moved on."""
        self._draw()

    # --- drawing ------------------------------------------------------------------------

    def _draw(self) -> None:
        player, width = self._player, self.size.width - 2
        if width < 1:
            return
        self.query_one(Timeline).advance(player.position)
        self.query_one("#state", Plain).update(self._state(width))
        self.query_one("#keys", Plain).update(cut(self._note or self._help(width), width))

    def _state(self, width: int) -> Content:
        player = self._player
        speed = "∞" if player.speed == float("inf") else f"{player.speed:g}×"
        parts = [
            f"{'▶ playing' if player.playing else '▮▮ paused'} {speed}",
            f"event {player.position}/{player.total}",
            f"{clock_time(player.elapsed)}/{clock_time(player.length)}",
        ]
        if player.skipped >= 1:
            parts.append(f"» {spoken(player.skipped)} skipped")
        banner = " REPLAY — nothing runs "
        return Content.assemble(
            (banner, "bold reverse $alita-approval"),
            (cut("  " + " · ".join(parts), width - len(banner)), "$foreground"),
        )

    def _help(self, width: int) -> str:
        keys = shown_keys(self)

        def key(action: str) -> str:
            return keys.get(action, "")

        marks = " ".join(f"{GLYPHS[mark]} {mark}" for mark in ("build", "approval", "error"))
        parts = [
            f"{key('play')} play",
            f"{key('back')}{key('forward')} event",
            f"{key('mark_back')} {key('mark_forward')} {marks}",
            f"{key('slower')} {key('faster')} speed",
            f"{key('find')} find",
            f"{key('app.quit')} quit",
            f"{key('step_back')} {key('step_forward')} step",
            "0–9 seek",
            "? help",
        ]
        line = ""
        for part in parts:
            longer = f"{line} · {part}" if line else part
            if len(longer) > width:
                break
            line = longer
        return line

    # --- controls -----------------------------------------------------------------------

    def _moved(self, found: bool = True, otherwise: str = "") -> None:
        self._note = "" if found else otherwise
        if found:
            self.post_message(self.Jumped(self._player))
        self._draw()

    def action_play(self) -> None:
        """Play or pause."""
        before = self._player.position
        self._player.toggle()
        self._moved(self._player.position != before)

    def action_back(self) -> None:
        """One event back."""
        self._player.move(-1)
        self._moved()

    def action_forward(self) -> None:
        """One event on."""
        self._player.move(1)
        self._moved()

    def action_step_back(self) -> None:
        """To where the step before begins."""
        self._moved(self._player.move_step(-1), "There is no step before.")

    def action_step_forward(self) -> None:
        """To where the next step begins."""
        self._moved(self._player.move_step(1), "There is no further step.")

    def action_mark_back(self) -> None:
        """To the build, approval or error before."""
        self._moved(self._player.move_mark(STOPS, -1), "No build, approval or error before.")

    def action_mark_forward(self) -> None:
        """To the next build, approval or error."""
        self._moved(self._player.move_mark(STOPS, 1), "No further build, approval or error.")

    def action_next_error(self) -> None:
        """To the next error."""
        self._moved(self._player.move_mark({"error"}, 1), "No further error.")

    def action_slower(self) -> None:
        """Half the speed."""
        self._player.faster(-1)
        self._draw()

    def action_faster(self) -> None:
        """Twice the speed."""
        self._player.faster()
        self._draw()

    def action_seek(self, tenth: int) -> None:
        """To a tenth of the session."""
        self._player.seek_tenth(tenth)
        self._moved()

    @on(Timeline.Chosen)
    def _clicked(self, message: Timeline.Chosen) -> None:
        message.stop()
        self._player.seek(message.position)
        self._moved()

    # --- search -------------------------------------------------------------------------

    def action_find(self) -> None:
        """Open the search."""
        self.add_class("-searching")
        self.query_one(Input).focus()

    def action_leave_search(self) -> None:
        """Close the search, or clear what the last control said."""
        self.remove_class("-searching")
        self._note = ""
        self.focus()
        self._draw()

    def action_find_next(self, direction: int) -> None:
        """To the next hit, or the one before."""
        if not self._needle:
            self.action_find()
            return
        where = "further" if direction > 0 else "earlier"
        self._moved(self._player.find(self._needle, direction), f"“{self._needle}” has no {where} hit.")

    @on(Input.Submitted)
    def _search(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_leave_search()
        self._needle = event.value.strip()
        if self._needle:
            self.action_find_next(1)
