"""The app's part in replays, going back in time, and the session list."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import on, work

from alita_tui.console import themes
from alita_tui.console.actions import key_of
from alita_tui.console.messages import CommandAsked, CopyAsked, ReplayAsked, SessionAsked
from alita_tui.console.ports import Catalog, Switch
from alita_tui.console.replay.player import Player, Tape
from alita_tui.console.session.composer import Composer
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.stream import Clock, CommandSink
from alita_tui.spine.text import counted, one_line

if TYPE_CHECKING:
    from textual.strip import Strip

    from alita_tui.console.replay.bar import ReplayBar
    from alita_tui.console.replay.screen import ReplayScreen
    from alita_tui.console.session.screen import SessionScreen
    from alita_tui.console.session.trace import Trace
    from alita_tui.console.sessions.screen import SessionsScreen
    from alita_tui.events import Artefact
    from alita_tui.view.model import SessionView

_OPENING = 0.04
"""Seconds in which a list of sessions is laid out before it is painted."""


class ReplayNavigation(themes.ThemedApp[Switch | None]):
    """Base of the app: opens replays and the session list."""

    main: SessionScreen

    def __init__(
        self,
        sink: CommandSink | None,
        *,
        catalog: Catalog,
        keys: dict[str, str],
        clock: Clock,
        motion: bool,
        playback: Player | None,
        tape: Tape | None,
    ) -> None:
        super().__init__()
        self._engine = sink
        self._catalog = catalog
        self._keys = keys
        self._clock = clock
        self._sessions: SessionsScreen | None = None
        self._motion = motion
        self._playback = playback
        self._tape = tape

    @property
    def _replay(self) -> ReplayScreen | None:
        """The replay on top of the screen stack, if any."""
        if self.screen is self.main:
            return None
        from alita_tui.console.replay.screen import ReplayScreen

        return self.screen if isinstance(self.screen, ReplayScreen) else None

    @property
    def in_the_past(self) -> bool:
        """Whether a replay is open over the session."""
        if len(self.screen_stack) == 1:
            return False
        from alita_tui.console.replay.screen import ReplayScreen

        return any(isinstance(screen, ReplayScreen) for screen in self.screen_stack)

    @property
    def replaying(self) -> bool:
        """Whether nothing can be sent or changed: a recording plays, or the past is on screen."""
        return self._engine is None or self.in_the_past

    @on(CommandAsked)
    def _command_asked(self, message: CommandAsked) -> None:
        if self._engine is not None and not self.in_the_past:
            self._engine.send(message.command)

    def _show_live_phase(self, view: SessionView) -> None:
        """Show in an open replay what the live session is doing."""
        if self._replay is not None:
            self._replay.controls.tell_now(view.phase)

    def _now_playing(self) -> Player | None:
        """Return the player of what is on screen."""
        if self._replay is not None:
            return self._replay.player
        return self._playback or (self._tape.player() if self._tape is not None else None)

    @on(CopyAsked)
    def _copy_asked(self, message: CopyAsked) -> None:
        self.copy(message.text)

    @work(name="copying", group="copying", exit_on_error=False)
    async def copy(self, text: str) -> None:
        """Copy a text, with a clipboard program too if there is one, and say which way it went."""
        from alita_tui.console.clipboard import hand_over, route

        self.copy_to_clipboard(text)
        program = None if self.is_headless or self.is_web else route(os.environ, shutil.which)
        if program is not None and await hand_over(text, program):
            message = f"Copied {counted(len(text), 'character')} {program.words}."
        else:
            message = (
                f"Sent {counted(len(text), 'character')} to the terminal's clipboard (OSC 52, not confirmed)."
            )
        self.notify(message, timeout=3)

    # --- recent sessions ------------------------------------------------------------------

    async def _recent(self) -> None:
        """Offer the newest sessions while this one is empty. A failure is not reported."""
        from alita_tui.console.session.recent import Recent, worth_reopening

        if len(self.main.view.tasks):
            return
        with suppress(AlitaError):
            lines = await self._catalog.sessions()
            recent = worth_reopening(lines, self.main.view.session_id)
            if recent and not len(self.main.view.tasks):
                key = key_of("app.sessions", self._keys)
                self.main.remember(Recent(recent, len(lines), key, self._clock()))

    @on(Composer.EarlierAsked)
    @work(name="earlier tasks", group="earlier", exclusive=True, exit_on_error=False)
    async def _recall(self) -> None:
        """Give the composer the tasks of earlier sessions. A failure is not reported."""
        with suppress(AlitaError):
            tasks = await self._catalog.earlier_tasks(self.main.view.session_id)
            self.main.query_one(Composer).recall(tasks)

    @on(SessionAsked)
    def _session_asked(self, message: SessionAsked) -> None:
        self._leave_for(message.session_id)

    @work(name="leave", group="leave", exclusive=True, exit_on_error=False)
    async def _leave_for(self, session_id: str) -> None:
        """Open another session in place of this one; if it cannot be opened, say why and stay."""
        try:
            if all(session.session_id != session_id for session in self.main.running_elsewhere):
                await self._catalog.check_openable(session_id)
        except AlitaError as error:
            self.complain(error)
        else:
            self.exit(Switch(session_id))

    # --- going back -----------------------------------------------------------------------

    def action_rewind(self) -> None:
        """Go back in the running session, starting at its newest event."""
        self._go_back(None)

    def on_trace_rewind_asked(self, message: Trace.RewindAsked) -> None:
        """Show the session as it was at a row."""
        self._go_back(message.seq)

    def _go_back(self, seq: int | None) -> None:
        if self.screen is not self.main:
            return
        if self._playback is not None:
            if seq is not None and self.main.bar is not None:
                self._playback.seek_seq(seq)
                self.main.bar.post_message(self.main.bar.Jumped(self._playback))
                self.main.bar.redraw()
        elif self._tape is not None:
            self._push_replay(self._tape.player(), seq, rewound=True)

    def _push_replay(self, player: Player, seq: int | None, *, rewound: bool) -> None:
        from alita_tui.console.replay.screen import ReplayScreen

        if seq is not None:
            player.seek_seq(seq)
        screen = ReplayScreen(player, keys=self._keys, rewound=rewound, motion=self._motion)
        screen.level = self.main.level
        self.push_screen(screen)
        screen.controls.tell_now(self.main.view.phase)
        self._load_bookmarks(screen.controls)

    def on_replay_bar_left(self, message: ReplayBar.Left) -> None:
        """Close the replay, or the app if it is nothing but a replay."""
        if self._replay is not None:
            self.pop_screen()
        else:
            self.exit()

    # --- requests of a replay ---------------------------------------------------------------

    @work(name="level", group="level", exit_on_error=False)
    async def on_trace_level_chosen(self, message: Trace.LevelChosen) -> None:
        """Use the level of detail in every trace, and save it."""
        self.main.detail(message.level)
        if not self.main.say_level():
            self.notify(f"Detail: {message.level}", timeout=2)
        try:
            await self._catalog.change_setting("console.detail", message.level)
        except AlitaError as error:
            self.complain(error)

    def on_trace_explain_asked(self, message: Trace.ExplainAsked) -> None:
        """Explain a row."""
        self._explain(message.seq)

    def on_replay_bar_explain_asked(self, message: ReplayBar.ExplainAsked) -> None:
        """Explain the event at the cursor."""
        self._explain(message.player.seq)

    @work(name="file", group="files", exit_on_error=False)
    async def on_trace_file_asked(self, message: Trace.FileAsked) -> None:
        """Show a file of the session on screen, save it in the current folder, or open it."""
        player = self._now_playing()
        view = player.view if player is not None else self.main.view
        session_id, use = view.state.session_id, message.what
        artefact = next((file for file in view.state.artefacts if file.handle == message.handle), None)
        if artefact is None:
            return
        try:
            if use == "view":
                await self._show_file(session_id, artefact)
                return
            path = await self._catalog.take_file(session_id, artefact, use)
        except AlitaError as error:
            self.complain(error)
            if use == "view" and message.trace.is_attached:
                message.trace.unfold()
            return
        verb = "Saved as" if use == "save" else "Opened"
        self.notify(f"{verb} {one_line(path, 200)}")

    @work(name="picture", group="pictures", exit_on_error=False)
    async def on_trace_picture_asked(self, message: Trace.PictureAsked) -> None:
        """Decode a picture for a card of the trace. A failure is not reported."""
        from alita_tui.console.session.inline_pictures import ROWS
        from alita_tui.console.widgets.half_blocks import half_blocks

        player, columns = self._now_playing(), message.columns
        view = player.view if player is not None else self.main.view
        artefact = next((file for file in view.state.artefacts if file.handle == message.handle), None)
        lines: list[Strip] = []
        with suppress(AlitaError):
            if artefact is not None:
                file = await self._catalog.look_in(view.state.session_id, artefact)
                try:
                    picture = await file.picture(columns, 2 * ROWS)
                finally:
                    file.close()
                # The decoder fills the missing part of a damaged file with one colour.
                blank = picture.problem and picture.pixels == picture.pixels[:4] * (
                    picture.columns * picture.rows
                )
                lines = [] if blank else half_blocks(picture, message.trace.background_colors[1].rgb)
        if message.trace.is_attached:
            message.trace.picture(message.handle, columns, lines)

    async def _show_file(self, session_id: str, artefact: Artefact) -> None:
        from alita_tui.console.files.screen import FileScreen

        file = await self._catalog.look_in(session_id, artefact)
        if isinstance(self.screen, FileScreen):
            file.close()
        else:
            self.push_screen(
                FileScreen(
                    file,
                    artefact,
                    lambda use: self._catalog.take_file(session_id, artefact, use),
                    graphics=self.graphics,
                )
            )

    def _explain(self, seq: int) -> None:
        from alita_tui.console.replay.explain import ExplainScreen

        player = self._now_playing()
        if player is not None and player.total:
            self.push_screen(ExplainScreen(player.explain(seq)))

    @work(name="bookmarks", group="bookmarks", exit_on_error=False)
    async def _load_bookmarks(self, bar: ReplayBar) -> None:
        try:
            bookmarks = await self._catalog.bookmarks(bar.player.session_id)
        except AlitaError as error:
            self.complain(error)
            return
        if bar.is_attached:
            bar.show_bookmarks(bookmarks)

    @work(name="bookmark", group="bookmarks", exit_on_error=False)
    async def on_replay_bar_marked(self, message: ReplayBar.Marked) -> None:
        """Set or remove a bookmark."""
        bar, seq, note = message.bar, message.seq, message.note
        try:
            bookmarks = await self._catalog.bookmark(bar.player.session_id, seq, note)
        except AlitaError as error:
            bar.say(str(error))
            return
        bar.show_bookmarks(bookmarks)
        bar.say(f"Bookmark at event {seq}." if note is not None else "The bookmark is gone.")

    @work(name="fork", group="fork", exclusive=True, exit_on_error=False)
    async def on_replay_bar_fork_asked(self, message: ReplayBar.ForkAsked) -> None:
        """Fork the session."""
        bar, player = message.bar, message.player
        try:
            session_id = await self._catalog.fork(tuple(player.envelopes), player.seq)
        except AlitaError as error:
            bar.say(str(error))
            return
        if self._playback is None and self.main.view.busy:
            bar.say(f"Made {session_id}; open it from the sessions once this task is done.")
        else:
            self.exit(Switch(session_id))

    @work(name="export", group="export", exclusive=True, exit_on_error=False)
    async def on_replay_bar_export_asked(self, message: ReplayBar.ExportAsked) -> None:
        """Export the session."""
        try:
            path = await self._catalog.export(tuple(message.player.envelopes), message.form)
        except AlitaError as error:
            message.bar.say(str(error))
            return
        message.bar.say(f"Exported to {path} without known secrets.")

    # --- other sessions ---------------------------------------------------------------------

    @work(name="sessions", group="screen", exclusive=True, exit_on_error=False)
    async def action_sessions(self) -> None:
        """List all sessions."""
        try:
            lines = await self._catalog.sessions()
        except AlitaError as error:
            self.complain(error)
            return
        from alita_tui.console.sessions.screen import SessionsScreen

        if self.screen is not self.main:
            return
        current = self.main.view.session_id
        if self._sessions is None:
            self._sessions = SessionsScreen(lines, self._catalog, self._keys, self._clock, current=current)
            # Mounting it each time would take as long as painting it.
            self.install_screen(self._sessions, "sessions")
        else:
            self._sessions.reopen(lines)
        self._sessions.background = frozenset(session.session_id for session in self.main.running_elsewhere)
        self.delay_update(_OPENING)  # one paint instead of three
        chosen = await self.push_screen_wait(self._sessions)
        if chosen is not None:
            self._leave_for(chosen.session_id)

    @on(ReplayAsked)
    def _replay_asked(self, message: ReplayAsked) -> None:
        self.replay_session(message.session_id, message.seq)

    @work(name="look", group="look", exclusive=True, exit_on_error=False)
    async def replay_session(self, session_id: str, seq: int | None) -> None:
        """Replay a session, from an event on if one is given."""
        try:
            player = await self._catalog.player(session_id)
        except AlitaError as error:
            self.complain(error)
            return
        self._push_replay(player, seq, rewound=False)


def bar_of(playback: Player | None) -> ReplayBar | None:
    """Return the replay bar, which takes the composer's place while a recording plays."""
    if playback is None:
        return None
    from alita_tui.console.replay.bar import ReplayBar

    return ReplayBar(playback)
