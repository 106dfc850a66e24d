"""The controls of a replay, which only move a player over a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, get_args

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from alita_tui.console.actions import bindings, shown_keys
from alita_tui.console.replay import words as replay_words
from alita_tui.console.replay.player import Player
from alita_tui.console.replay.timeline import Timeline
from alita_tui.console.sessions.catalog import ExportForm
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.spine.errors import UsageError
from alita_tui.spine.sessions import Bookmark
from alita_tui.state.session import Phase
from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark

STOPS: frozenset[Mark] = frozenset({"build", "approval", "error"})
"""Marks that jumping stops at."""
FORMS: tuple[ExportForm, ...] = get_args(ExportForm)
"""Formats that a session can be exported to."""


class _Prompt(NamedTuple):
    """What the input line asks for."""

    placeholder: str
    value: str
    take: Callable[[str], None]


class ReplayBar(Vertical, can_focus=True, can_focus_children=True):
    """Three lines: position, timeline, and keys or an input line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("replay"),
        Binding("escape", "leave_line", show=False),
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
        &.-asking Input { display: block; }
        &.-asking #keys { display: none; }
    }
    """

    @dataclass
    class Jumped(Message):
        """The player jumped; continue from `view`."""

        player: Player

        @property
        def view(self) -> SessionView:
            """The view to continue from, read late so that it matches what the player yields next."""
            return self.player.view

    @dataclass
    class Marked(Message):
        """Set a bookmark at an event, or remove it if `note` is None."""

        bar: ReplayBar
        seq: int
        note: str | None

    @dataclass
    class Wanted(Message):
        """A request that needs more than the player."""

        bar: ReplayBar

        @property
        def player(self) -> Player:
            """The player of the bar."""
            return self.bar.player

    class ExplainAsked(Wanted):
        """Explain the event at the cursor."""

    class ForkAsked(Wanted):
        """Fork the session here."""

    @dataclass
    class ExportAsked(Wanted):
        """Export the session to a file."""

        form: ExportForm

    class Left(Wanted):
        """Leave the replay."""

    def __init__(self, player: Player, *, rewound: bool = False, id: str | None = None) -> None:
        """`rewound`: the session being played is still running."""
        super().__init__(id=id)
        self.player = player
        self._rewound = rewound
        self._needle = ""
        self._note = ""
        """Outcome of the last control, such as that nothing was found."""
        self._now: Phase | None = None
        """What the live session is doing, if it is running."""
        self._take: Callable[[str], None] = self._search
        self._bookmarks: tuple[Bookmark, ...] = ()

    def compose(self) -> ComposeResult:
        """State, timeline, keys and an input line."""
        yield Plain(id="state")
        yield Timeline(self.player.marks, id="timeline")
        yield Plain(id="keys")
        yield Input(compact=True, id="search")

    def on_mount(self) -> None:
        """Draw the position."""
        self.redraw()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.redraw()

    def advance(self, view: SessionView) -> None:
        """Draw a newer view."""
        if self.player.stopped:
            self._note = f"Stopped at {self.player.stopped}."
        self.redraw()

    def show_bookmarks(self, bookmarks: tuple[Bookmark, ...]) -> None:
        """Show the session's bookmarks."""
        self._bookmarks = bookmarks
        self.redraw()

    def tell_now(self, phase: Phase) -> None:
        """Show what the live session is doing."""
        if self._rewound and phase != self._now:
            self._now = phase
            if self.is_mounted:
                self.redraw()

    def say(self, text: str) -> None:
        """Show a note in place of the keys, until the next control."""
        self._note = text
        self.redraw()

    # --- drawing ------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draw the player's position."""
        player, width = self.player, self.size.width - 2
        if width < 1:
            return
        flags = tuple(player.position_of(bookmark.seq) for bookmark in self._bookmarks)
        self.query_one(Timeline).advance(player.position, flags)
        keys = shown_keys(self.app) | shown_keys(self)
        state = replay_words.state(player, self._bookmarks, width, rewound=self._rewound, now=self._now)
        self.query_one("#state", Plain).update(state)
        self.query_one("#keys", Plain).update(
            at_words(self._note or replay_words.keys(keys, width, rewound=self._rewound), width)
        )

    # --- controls -----------------------------------------------------------------------

    def _moved(self, moved: bool = True, failure: str = "") -> None:
        self._note = "" if moved else failure
        if moved:
            self.post_message(self.Jumped(self.player))
        self.redraw()

    def action_play(self) -> None:
        """Play or pause."""
        position = self.player.position
        self.player.toggle()
        self._moved(self.player.position != position)

    def action_back(self) -> None:
        """One event back."""
        self.player.move(-1)
        self._moved()

    def action_forward(self) -> None:
        """One event on."""
        self.player.move(1)
        self._moved()

    def action_step_back(self) -> None:
        """To the beginning of the previous step."""
        self._moved(self.player.move_step(-1), "There is no step before.")

    def action_step_forward(self) -> None:
        """To the beginning of the next step."""
        self._moved(self.player.move_step(1), "There is no further step.")

    def action_mark_back(self) -> None:
        """To the previous build, approval or error."""
        self._moved(self.player.move_mark(STOPS, -1), "No build, approval or error before.")

    def action_mark_forward(self) -> None:
        """To the next build, approval or error."""
        self._moved(self.player.move_mark(STOPS, 1), "No further build, approval or error.")

    def action_first(self) -> None:
        """To the beginning."""
        self.player.seek(0)
        self._moved()

    def action_last(self) -> None:
        """To the end; of a running session, back to the present."""
        if self._rewound:
            self.post_message(self.Left(self))
            return
        self.player.seek(self.player.total)
        self._moved()

    def action_leave(self) -> None:
        """Leave the replay."""
        self.post_message(self.Left(self))

    def action_slower(self) -> None:
        """Half the speed."""
        self.player.faster(-1)
        self.redraw()

    def action_faster(self) -> None:
        """Twice the speed."""
        self.player.faster()
        self.redraw()

    def action_seek(self, tenth: int) -> None:
        """To a tenth of the session."""
        self.player.seek_tenth(tenth)
        self._moved()

    @on(Timeline.Chosen)
    def _clicked(self, message: Timeline.Chosen) -> None:
        message.stop()
        self.player.seek(message.position)
        self._moved()

    # --- stops, bookmarks and what goes beyond the player ------------------------------------

    def action_stop_at(self) -> None:
        """Ask where playing should stop."""
        self._ask(
            _Prompt("stop at: error approval tool=NAME cost>0.10", self.player.breakpoints, self._stop_at)
        )

    def _stop_at(self, text: str) -> None:
        try:
            self.player.stop_at(text)
        except UsageError as error:
            self.say(str(error))
            return
        self.say(f"Stops at {self.player.breakpoints}." if self.player.breakpoints else "It stops nowhere.")

    def action_move_break(self, direction: int) -> None:
        """Go to the next breakpoint, or the previous one."""
        where = "further" if direction > 0 else "earlier"
        moved = self.player.move_break(direction)
        self._moved(moved, f"No {where} event is a {self.player.breakpoints or 'stop: b sets one'}.")

    def action_bookmark(self) -> None:
        """Ask for a note and set a bookmark."""
        seq = self.player.seq
        if not seq:
            self.say("There is no event before the first one.")
            return
        old_note = next((bookmark.note for bookmark in self._bookmarks if bookmark.seq == seq), "")

        def take(note: str) -> None:
            self.post_message(self.Marked(self, seq, note))

        self._ask(_Prompt("a note for this place, or just Enter", old_note, take))

    def action_unmark(self) -> None:
        """Remove the bookmark here."""
        if any(bookmark.seq == self.player.seq for bookmark in self._bookmarks):
            self.post_message(self.Marked(self, self.player.seq, None))
        else:
            self.say("There is no bookmark here.")

    def action_next_bookmark(self) -> None:
        """Go to the next bookmark, wrapping around."""
        places = [bookmark.seq for bookmark in self._bookmarks]
        if not places:
            self.say("There is no bookmark; m sets one.")
            return
        self.player.seek_seq(next((seq for seq in places if seq > self.player.seq), places[0]))
        self._moved()

    def action_explain(self) -> None:
        """Ask why the event at the cursor happened."""
        self.post_message(self.ExplainAsked(self))

    def action_fork(self) -> None:
        """Fork the session here."""
        self.post_message(self.ForkAsked(self))

    def action_export(self) -> None:
        """Ask for the export format."""
        self._ask(_Prompt(" ".join(("write it as:", *FORMS)), "html", self._export))

    def _export(self, text: str) -> None:
        form = next((candidate for candidate in FORMS if text and candidate.startswith(text.lower())), None)
        if form is None:
            self.say(f"It can be written as {', '.join(FORMS)}.")
        else:
            self.post_message(self.ExportAsked(self, form))

    # --- search -------------------------------------------------------------------------

    def action_find(self) -> None:
        """Open the search."""
        self._ask(_Prompt("search what was said and done", "", self._search))

    def action_find_next(self, direction: int) -> None:
        """To the next hit, or the previous one."""
        if not self._needle:
            self.action_find()
            return
        where = "further" if direction > 0 else "earlier"
        self._moved(self.player.find(self._needle, direction), f"“{self._needle}” has no {where} hit.")

    def _search(self, text: str) -> None:
        self._needle = text
        if text:
            self.action_find_next(1)

    # --- the input line ----------------------------------------------------------------------

    def _ask(self, prompt: _Prompt) -> None:
        line = self.query_one(Input)
        line.placeholder, line.value, self._take = prompt
        self.add_class("-asking")
        line.focus()

    def action_leave_line(self) -> None:
        """Close the input line and clear the note. Raises SkipAction if there is neither: the screen takes the key."""
        if not self.has_class("-asking") and not self._note:
            raise SkipAction
        self.remove_class("-asking")
        self._note = ""
        self.focus()
        self.redraw()

    @on(Input.Submitted)
    def _answered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_leave_line()
        self._take(event.value.strip())
