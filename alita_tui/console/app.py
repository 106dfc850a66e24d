"""The console app: draws the views that `Stage` produces and sends what a person decides.

It holds no domain logic: no sink means that a recording plays, and then nothing can be sent.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerState

from alita_tui.console import themes
from alita_tui.console.action_table import DIALOGS
from alita_tui.console.actions import bindings, key_of
from alita_tui.console.drafts import COMPOSER, Drafts
from alita_tui.console.early_keys import BuffersEarlyKeys
from alita_tui.console.fatal_errors import RecordsFailure
from alita_tui.console.keymap import read_keymap
from alita_tui.console.opening import DialogOpener
from alita_tui.console.ports import Catalog, ConsoleOptions, HeldSource, Switch, Upkeep
from alita_tui.console.replay.navigation import bar_of
from alita_tui.console.review.opening import ReviewOpener
from alita_tui.console.session.loading import TAIL
from alita_tui.console.session.screen import SessionScreen
from alita_tui.console.session.words import parting
from alita_tui.console.signals import on_ending, release
from alita_tui.console.stage import Advanced, Stage
from alita_tui.console.widgets.dialog import Dialog
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.stream import CommandSink, EventSource
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.replay.bar import ReplayBar
    from alita_tui.console.replay.player import Player, Tape

_TWICE_SECONDS = 1.0
"""Seconds within which a second press of the key that stopped a task quits."""
_ASKED_SECONDS = 3.0
"""Seconds for which the question whether to quit is shown, and another press quits."""
_LOOKS = 5.0
"""Seconds between two reads of what runs in the background."""


class AlitaApp(RecordsFailure, BuffersEarlyKeys, ReviewOpener, DialogOpener):
    """The app for one session, live or replayed."""

    TITLE = "alita"
    ENABLE_COMMAND_PALETTE = False  # the console has its own palette, which also shows states
    CSS_PATH = "session/screen.tcss"  # of the default screen, which loads none of its own
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(
        self,
        source: EventSource,
        sink: CommandSink | None,
        *,
        catalog: Catalog,
        options: ConsoleOptions,
        upkeep: Upkeep | None = None,
        playback: Player | None = None,
        tape: Tape | None = None,
        drafts: Drafts | None = None,
    ) -> None:
        """Show `source`; without `sink` and `upkeep` nothing can be changed. `playback` plays a recording.

        `tape` records a running session, so that one can go back in it.
        """
        keys, self._key_problems = read_keymap(options.keymap)
        super().__init__(
            sink,
            catalog=catalog,
            keys=keys,
            clock=options.clock,
            motion=not options.reduced_motion,
            playback=playback,
            tape=tape,
        )
        self._source = source
        self._stage = Stage(source, lambda view: self.post_message(Advanced(view)), tape=tape)
        if drafts is not None:
            self.drafts = drafts
        self._upkeep = upkeep
        self._options = options
        self._quits_until = 0.0
        self._early = []
        loaded = themes.load(options.builtin_themes, options.user_themes)
        self._theme_problems = [str(problem) for problem in loaded.problems]
        self.theme_names = tuple(theme.name for theme in loaded.themes)
        if options.theme not in ("auto", *self.theme_names):
            missing = themes.missing(options.theme, self.theme_names)
            self._theme_problems.append(f"{missing} {key_of('app.theme', self._keys)} shows them all.")
        for theme in loaded.themes:
            self.register_theme(theme)
        self.theme = loaded.pick(options.theme, dark=options.dark)
        self.graphics = options.graphics
        if options.reduced_motion:
            self.keep_still()
        self.main = SessionScreen(keys=self._keys, player=bar_of(playback), motion=not options.reduced_motion)
        self.main.level = options.detail

    def get_default_screen(self) -> SessionScreen:
        """Return the session screen, which is the bottom of the stack."""
        self.main.fit(self.size)
        return self.main

    def on_mount(self) -> None:
        """Start reading the stream."""
        self.set_keymap(self._keys)
        self.watch(self, "app_focus", self._terminal_focus, init=False)
        on_ending(self._leave)
        if self._playback is not None and self.main.bar is not None:
            self._stage.jump(self._playback.view)
            self._load_bookmarks(self.main.bar)
        self._read()
        self.call_after_refresh(self.take_early)
        self.call_after_refresh(self._preload)
        if self._options.written:
            self.call_after_refresh(self.main.restore, self._options.written)
        for problems in (self._theme_problems, self._key_problems):
            if problems:
                self.notify("\n".join(problems), severity="warning", timeout=12)

    async def on_unmount(self) -> None:
        """Restore the terminal's title, save the drafts, then restore the signal handlers."""
        self._attention.seen()
        await self.drafts.close()
        release()

    def _leave(self, code: int) -> None:
        self.exit(return_code=code)

    @work(name="stage", group="stage", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        if isinstance(self._source, HeldSource):
            self.main.opens(*await self._source.end(TAIL))
        await self._stage.run()

    @work(name="preload", group="preload", exclusive=True, exit_on_error=False)
    async def _preload(self) -> None:
        await self._catalog.preload()
        if not self.replaying:
            self.main.offer(await self._catalog.suggestions())
            await self._recent()
            self.look_elsewhere()
            self.set_interval(_LOOKS, self.look_elsewhere)
        for module in ("alita_tui.console.sessions.screen", "rich.traceback"):
            await asyncio.to_thread(import_module, module)
        self._read_styles("widgets/dialog.tcss", "sessions/screen.tcss")

    def _read_styles(self, *names: str) -> None:
        """Read a screen's styles in advance; none of them apply to what is on screen."""
        for name in names:
            path = Path(__file__).parent / name
            if not self.stylesheet.has_source(str(path)):
                self.stylesheet.read(path)
        self.stylesheet.parse()

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        """Show the error of a failed worker."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            message = one_line(f"{event.worker.name} stopped: {error or type(error).__name__}")
            self.notify(message, severity="error", timeout=30)

    @on(Advanced)
    def _advanced(self, message: Advanced) -> None:
        self.main.draw(message.view)
        if self._review is not None:
            self._review.advance(message.view)
        elif isinstance(self.screen, Dialog) and not self.in_the_past:
            self.screen.follow(message.view)
        self._show_live_phase(message.view)
        self._notify_if_away(message.view)
        self.drafts.fresh = not len(message.view.tasks)
        if message.view.session_id and not self.drafts.opened and self._engine is not None:
            self._open_drafts(message.view.session_id)

    def on_replay_bar_jumped(self, message: ReplayBar.Jumped) -> None:
        """Continue from where the player jumped to."""
        self._stage.jump(message.view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of dialogs while another screen is open."""
        if action == "spend" and self._replay is not None:
            return True
        if action == "jump" and isinstance(self.focused, Input | TextArea):
            return not self.focused.selected_text  # with a selection the key cuts
        return action not in DIALOGS or self.screen is self.main

    @work(name="running", group="running", exclusive=True, exit_on_error=False)
    async def look_elsewhere(self) -> None:
        """Show a tab for each session that runs in the background."""
        with suppress(AlitaError):
            self.main.elsewhere(await self._catalog.running())

    @work(name="drafts", group="drafts", exclusive=True, exit_on_error=False)
    async def _open_drafts(self, session_id: str) -> None:
        self.main.restore((await self.drafts.open(session_id)).get(COMPOSER, ""))
        if self.drafts.failed:
            self.notify(f"What you type is not saved: {one_line(self.drafts.failed)}")

    def action_new_session(self) -> None:
        """Leave this session and begin another."""
        self.exit(Switch())

    def action_ladder(self) -> None:
        """Copy, else interrupt, else clear, else quit on the second press."""
        focused = self.focused
        selected = self.screen.get_selected_text()
        if not selected and isinstance(focused, Input | TextArea):
            selected = focused.selected_text
        if selected:
            self.copy(selected)
            self.screen.clear_selection()
        elif monotonic() < self._quits_until:
            self.exit()
        elif self._replay is not None:
            self.pop_screen()
        elif self.main.view.busy and not self.replaying and self.main.view.phase != "waiting":
            self.main.action_interrupt()
            self._quits_until = monotonic() + _TWICE_SECONDS
        elif not self.main.clear():
            self._quits_until, way_back = monotonic() + _ASKED_SECONDS, self._options.way_back
            self.notify(f"Press again to quit. {parting(self.main.view, way_back)}", timeout=_ASKED_SECONDS)
