"""The console app: draws the views that `Stage` produces and sends what a person decides.

It holds no domain logic: no sink means that a recording plays, and then nothing can be sent.
"""

from __future__ import annotations

import asyncio
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on, work
from textual.binding import BindingType
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerState

from alita_tui.console import themes
from alita_tui.console.actions import bindings, key_of
from alita_tui.console.commanding import LOOKS, Commanding
from alita_tui.console.drafts import Drafts
from alita_tui.console.early_keys import KeepsEarlyKeys
from alita_tui.console.failing import KeepsFailure
from alita_tui.console.keymap import read_keymap
from alita_tui.console.memory.opening import MemoryOpener
from alita_tui.console.ports import Catalog, ConsoleOptions, HeldSource, Switch, Upkeep
from alita_tui.console.replay.navigation import bar_of
from alita_tui.console.review.opening import ReviewOpener
from alita_tui.console.session.filling import TAIL
from alita_tui.console.session.screen import SessionScreen
from alita_tui.console.session.words import parting
from alita_tui.console.signals import on_ending, release
from alita_tui.console.stage import Advanced, Stage
from alita_tui.console.statistics.opening import StatisticsOpener
from alita_tui.console.tasks.opening import TasksOpener
from alita_tui.events import MoveKind
from alita_tui.spine.commands import EnableModel, RefreshLibrary, SwitchBlock
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.stream import CommandSink, EventSource
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.context.screen import ContextScreen
    from alita_tui.console.library.tool import ToolScreen
    from alita_tui.console.replay.bar import ReplayBar
    from alita_tui.console.replay.player import Player, Tape
    from alita_tui.console.sandbox.screen import SandboxScreen
    from alita_tui.console.servers.screen import ServersScreen
    from alita_tui.console.settings.theme_picker import ThemePicker
    from alita_tui.console.setup.screen import SetupScreen
    from alita_tui.console.spend.screen import SpendScreen
    from alita_tui.console.tasks.screen import TasksScreen

_TWICE_SECONDS = 1.0


_OVER = frozenset("tasks spend statistics evaluations context memory servers settings setup sandbox".split())
"""Actions that open a dialog over the session."""


class AlitaApp(
    KeepsFailure, KeepsEarlyKeys, Commanding, ReviewOpener, MemoryOpener, StatisticsOpener, TasksOpener
):
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
            catalog,
            keys,
            clock=options.clock,
            motion=not options.reduced_motion,
            playback=playback,
            tape=tape,
        )
        self._source = source
        self._stage = Stage(source, lambda view: self.post_message(Advanced(view)), tape=tape)
        self._engine = sink
        if drafts is not None:
            self.drafts = drafts
        self._upkeep = upkeep
        self._options = options
        self._pressed = 0.0
        self._early = []
        loaded = themes.load(options.builtin_themes, options.user_themes)
        self._theme_problems = [str(problem) for problem in loaded.problems]
        self._theme_names = tuple(theme.name for theme in loaded.themes)
        if options.theme not in ("auto", *self._theme_names):
            missing = themes.missing(options.theme, self._theme_names)
            self._theme_problems.append(f"{missing} {key_of('app.theme', self._keys)} shows them all.")
        for theme in loaded.themes:
            self.register_theme(theme)
        self.theme = loaded.pick(options.theme, dark=options.dark)
        self.graphics = options.graphics
        if options.reduced_motion:
            self.keep_still()
        self.main = SessionScreen(keys=self._keys, player=bar_of(playback), motion=not options.reduced_motion)
        self.main.level = options.detail

    @property
    def _sink(self) -> CommandSink | None:
        """Where commands go; None while a recording plays or the past is on screen."""
        return None if self.in_the_past else self._engine

    @property
    def replaying(self) -> bool:
        """Whether nothing can be sent because the past is on screen."""
        return self._sink is None

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
                self.notify("\n".join(problems), severity="warning", markup=False, timeout=12)

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
            self.set_interval(LOOKS, self.look_elsewhere)
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
            self.notify(message, severity="error", markup=False, timeout=30)

    @on(Advanced)
    def _advanced(self, message: Advanced) -> None:
        self.main.draw(message.view)
        if self._review is not None:
            self._review.advance(message.view)
        elif self._sheet is not None and not self.in_the_past:
            self._sheet.advance(message.view)
        self._tell_now(message.view)
        self._call(message.view)
        self.drafts.fresh = not len(message.view.tasks)
        if message.view.session_id and not self.drafts.opened and self._engine is not None:
            self._open_drafts(message.view.session_id)

    def on_replay_bar_jumped(self, message: ReplayBar.Jumped) -> None:
        """Continue from where the player jumped to."""
        self._stage.jump(message.view)

    # --- what a person decides ------------------------------------------------------------

    @on(SessionScreen.Asked)
    def _asked(self, message: SessionScreen.Asked) -> None:
        if self._sink is not None:
            self._sink.send(message.command)

    # --- around the session ---------------------------------------------------------------

    @property
    def _sheet(self) -> SpendScreen | SandboxScreen | ContextScreen | ServersScreen | TasksScreen | None:
        """The screen on top that follows the session, if there is one."""
        if self.screen is self.main:
            return None
        from alita_tui.console.context.screen import ContextScreen
        from alita_tui.console.sandbox.screen import SandboxScreen
        from alita_tui.console.servers.screen import ServersScreen
        from alita_tui.console.spend.screen import SpendScreen
        from alita_tui.console.tasks.screen import TasksScreen

        screen = self.screen
        sheets = SpendScreen | SandboxScreen | ContextScreen | ServersScreen | TasksScreen
        return screen if isinstance(screen, sheets) else None

    @work(name="spend", group="screen", exclusive=True, exit_on_error=False)
    async def action_spend(self) -> None:
        """Show money, tokens and models."""
        from alita_tui.console.spend.screen import SpendScreen

        if not isinstance(self.screen, SessionScreen):
            return
        view = self.screen.view
        try:
            days, prices = await self._catalog.days(), await self._catalog.prices()
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)
            days, prices = {}, ""
        self.push_screen(SpendScreen(view, self._keys, days=days, prices=prices))

    def on_spend_screen_enable_asked(self, message: SpendScreen.EnableAsked) -> None:
        """Enable a model that is off."""
        if self._sink is not None:
            self._sink.send(EnableModel(model=message.model))

    def action_context(self) -> None:
        """Show what the next call would send."""
        from alita_tui.console.context.screen import ContextScreen

        if self.screen is self.main and not self.replaying:
            look = partial(self._catalog.next_call, self.main.view.session_id)
            self.push_screen(ContextScreen(self.main.view, self._keys, look))

    def on_context_screen_switch_asked(self, message: ContextScreen.SwitchAsked) -> None:
        """Switch a block of the context for this session."""
        if self._sink is not None:
            self._sink.send(SwitchBlock(block=message.block, on=message.on))

    def action_sandbox(self) -> None:
        """Show containers, pool, environments, limits and the last runs."""
        from alita_tui.console.sandbox.screen import SandboxScreen

        if self.screen is self.main:
            self.push_screen(SandboxScreen(self.main.view, self._keys, self._upkeep))

    @work(name="settings", group="screen", exclusive=True, exit_on_error=False)
    async def action_settings(self) -> None:
        """List every setting."""
        from alita_tui.console.settings.screen import SettingsScreen

        if self.screen is not self.main:
            return
        try:
            lines = await self._catalog.settings()
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)
            return
        self.push_screen(SettingsScreen(lines, self._catalog.change_setting))

    @work(name="setup", group="screen", exclusive=True, exit_on_error=False)
    async def action_setup(self) -> None:
        """Open the setup wizard over the session."""
        try:
            self.push_screen(await self._catalog.wizard())
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)

    async def on_setup_screen_done(self, message: SetupScreen.Done) -> None:
        """Apply the wizard's result; the open session continues unchanged."""
        if message.result.kind == "skipped":
            return
        try:
            if message.result.kind == "demo":
                await self._catalog.change_setting("model.provider", "demo")
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)
            return
        self.notify("Takes effect in the next session.", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of dialogs while another screen is open."""
        if action == "spend" and self._replay is not None:
            return True
        if action == "jump" and isinstance(self.focused, Input | TextArea):
            return not self.focused.selected_text  # with a selection the key cuts
        return action not in _OVER or self.screen is self.main

    def action_new_session(self) -> None:
        """Leave this session and begin another."""
        self.exit(Switch())

    @on(SessionScreen.ToolAsked)
    def _tool_asked(self, message: SessionScreen.ToolAsked) -> None:
        self._open_tool(message.name)

    def on_tool_screen_move_asked(self, message: ToolScreen.MoveAsked) -> None:
        """Change the state of a tool's version."""
        if not self.replaying:
            self._open_tool(message.name, message.kind, message.version)

    @work(name="tool", group="tool", exclusive=True, exit_on_error=False)
    async def _open_tool(
        self, name: str, kind: MoveKind | Literal["undo", ""] = "", version: int | None = None
    ) -> None:
        """Show a tool, after applying `kind` to a version of it."""
        from alita_tui.console.library.tool import ToolScreen

        try:
            if kind:
                if self.replaying:
                    return
                lineage = await self._catalog.move(name, kind, version)
                self.notify(f"{name}: {kind} is done.", markup=False, timeout=3)
                if self._sink is not None:
                    self._sink.send(RefreshLibrary())
            else:
                lineage = await self._catalog.lineage(name)
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)
            return
        problem = await self._wrong_with(name, lineage.current)
        if isinstance(self.screen, ToolScreen):
            self.screen.show(lineage, problem)
        else:
            self.push_screen(ToolScreen(lineage, problem=problem, may_move=not self.replaying))

    async def _wrong_with(self, name: str, version: int | None) -> str:
        """Return why the current version cannot run; empty if it can, or if there is none."""
        try:
            if version is not None:
                await self._catalog.tool(name, version)
        except AlitaError as error:
            return str(error)
        return ""

    # --- what the palette offers ------------------------------------------------------------

    def tool_names(self) -> tuple[str, ...]:
        """Return the names of the library's tools."""
        return tuple(card.name for card in self.main.view.library)

    def theme_names(self) -> tuple[str, ...]:
        """Return the names of the themes that were read."""
        return self._theme_names

    async def show_tool(self, name: str) -> None:
        """Open a tool of the library."""
        self._open_tool(name)

    async def use_theme(self, name: str) -> None:
        """Switch to a theme and save the choice."""
        self.theme = name
        try:
            await self._catalog.save_theme(name)
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)

    @on(SessionScreen.CopyAsked)
    def _copy(self, message: SessionScreen.CopyAsked) -> None:
        self._to_clipboard(message.text)

    def on_tool_screen_copy_asked(self, message: ToolScreen.CopyAsked) -> None:
        """Copy text of a tool."""
        self._to_clipboard(message.text)

    @work(name="theme", group="screen", exclusive=True, exit_on_error=False)
    async def action_theme(self) -> None:
        """Choose a theme."""
        from alita_tui.console.settings.theme_picker import ThemePicker

        chosen = await self.push_screen_wait(ThemePicker(self._theme_names, self.theme))
        if chosen is not None:
            await self.use_theme(chosen)

    def on_theme_picker_previewed(self, message: ThemePicker.Previewed) -> None:
        """Preview the highlighted theme."""
        self.theme = message.name

    def action_ladder(self) -> None:
        """Copy, else interrupt, else clear, else quit on the second press."""
        focused = self.focused
        selected = self.screen.get_selected_text()
        if not selected and isinstance(focused, Input | TextArea):
            selected = focused.selected_text
        if selected:
            self._to_clipboard(selected)
            self.screen.clear_selection()
        elif monotonic() - self._pressed < _TWICE_SECONDS:
            self.exit()
        elif self._replay is not None:
            self.pop_screen()
        elif self.main.view.busy and not self.replaying and self.main.view.phase != "waiting":
            self.main.action_interrupt()
            self._pressed = monotonic()
        elif not self.main.clear():
            self._pressed, way_back = monotonic(), self._options.way_back
            self.notify(f"Press again to quit. {parting(self.main.view, way_back)}", markup=False, timeout=2)
