"""The console: screens over one stage. Draws what the stage folds, sends what a person decides.

It holds no domain logic: no sink means that a recording plays, and then nothing can be sent.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import on, work
from textual.app import SuspendNotSupported
from textual.binding import BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from alita_tui.console import themes
from alita_tui.console.actions import ACTIONS, bindings
from alita_tui.console.keymap import read_keymap
from alita_tui.console.ports import Catalog, ConsoleOptions, Switch
from alita_tui.console.screens.approval import ApprovalScreen
from alita_tui.console.screens.help import HelpScreen
from alita_tui.console.screens.session import SessionScreen
from alita_tui.console.screens.sessions import SessionsScreen
from alita_tui.console.screens.theme_picker import ThemePicker
from alita_tui.console.screens.tool import ToolScreen
from alita_tui.console.signals import on_ending
from alita_tui.console.stage import Advanced, Stage
from alita_tui.console.player import Player
from alita_tui.console.widgets.replay_bar import ReplayBar
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports import CommandSink, EventSource
from alita_tui.spine.text import one_line
from alita_tui.view.queries import pending

_TWICE_SECONDS = 1.0


class Commands(Provider):
    """The table of actions as palette entries."""

    @property
    def _entries(self) -> Iterator[tuple[str, str, str]]:
        replaying = isinstance(self.app, AlitaApp) and self.app.replaying
        for one in ACTIONS:
            if one.palette and (one.replay if replaying else one.live):
                where = "app." if one.owner == "app" else "screen."
                yield one.palette, one.tooltip, where + one.run

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for name, tooltip, run in self._entries:
            yield DiscoveryHit(name, self._call(run), help=tooltip)

    async def search(self, query: str) -> Hits:
        """What fits."""
        matcher = self.matcher(query)
        for name, tooltip, run in self._entries:
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), self._call(run), help=tooltip)

    def _call(self, run: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # Textual's own callback type
        async def call() -> None:
            await self.app.run_action(run)

        return call


class AlitaApp(themes.Themed[Switch | None]):
    """One session on screen, live or replayed."""

    TITLE = "alita"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider]]] = {Commands}  # type: ignore[assignment]
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(
        self,
        source: EventSource,
        sink: CommandSink | None,
        *,
        catalog: Catalog,
        options: ConsoleOptions,
        playback: Player | None = None,
    ) -> None:
        super().__init__()
        self._stage = Stage(source, lambda view: self.post_message(Advanced(view)))
        self._sink = sink
        self._catalog = catalog
        self._options = options
        self._player: Widget | None = ReplayBar(playback) if playback is not None else None
        self._keys, self._key_problems = read_keymap(options.keymap)
        self._pressed = 0.0
        self._rung: set[str] = set()
        loaded = themes.load(options.builtin_themes, options.user_themes)
        self._theme_problems = loaded.problems
        self._theme_names = tuple(theme.name for theme in loaded.themes)
        for theme in loaded.themes:
            self.register_theme(theme)
        self.theme = loaded.pick(options.theme, dark=options.dark)
        self.main = SessionScreen(
            keys=self._keys,
            suggestions=options.suggestions,
            player=self._player,
            motion=not options.reduced_motion,
        )

    @property
    def replaying(self) -> bool:
        """True when a recording plays."""
        return self._sink is None

    def on_mount(self) -> None:
        """Show the session and begin to read the stream."""
        self.set_keymap(self._keys)
        on_ending(self._leave)
        self.push_screen(self.main)
        self._read()
        self.call_after_refresh(self._preload)
        for problem in [*map(str, self._theme_problems), *self._key_problems]:
            self.notify(problem, severity="warning", markup=False, timeout=12)

    def _leave(self, code: int) -> None:
        self.exit(return_code=code)

    @work(name="stage", group="stage", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        await self._stage.run()

    @work(name="preload", group="preload", exclusive=True, exit_on_error=False)
    async def _preload(self) -> None:
        await self._catalog.preload()

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        """A worker that failed says so instead of leaving a screen that stands still."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            said = one_line(f"{event.worker.name} stopped: {error or type(error).__name__}")
            self.notify(said, severity="error", markup=False, timeout=30)

    @on(Advanced)
    def _advanced(self, message: Advanced) -> None:
        self.main.draw(message.view)
        screen = self.screen
        if isinstance(screen, ApprovalScreen):
            screen.advance(message.view)
        for build in pending(message.view):
            if build.approval_id not in self._rung and not self.replaying:
                self._rung.add(build.approval_id)
                if self._options.bell and not self.app_focus:
                    self.bell()

    @on(ReplayBar.Jumped)
    def _jumped(self, message: ReplayBar.Jumped) -> None:
        self._stage.jump(message.view)

    # --- what a person decides ------------------------------------------------------------

    @on(SessionScreen.Asked)
    def _asked(self, message: SessionScreen.Asked) -> None:
        if self._sink is not None:
            self._sink.send(message.command)

    @on(ApprovalScreen.Decided)
    def _decided(self, message: ApprovalScreen.Decided) -> None:
        if self._sink is not None:
            self._sink.send(message.command)

    @on(ApprovalScreen.EditRequested)
    def _edit(self, message: ApprovalScreen.EditRequested) -> None:
        screen = self.screen
        edited = self._edited(message.draft.name, message.draft.code)
        if isinstance(screen, ApprovalScreen) and edited is not None:
            screen.edited(message.approval_id, edited, message.draft.tests)

    def _edited(self, name: str, code: str) -> str | None:
        """The code as the person's editor leaves it; None when there is no editor to run."""
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory(prefix="alita-edit-") as folder:
            path = Path(folder) / f"{name}.py"
            path.write_text(code, "utf-8")
            try:
                with self.suspend():
                    subprocess.run([*editor, str(path)], check=False)
            except (SuspendNotSupported, OSError) as error:
                self.notify(f"The editor could not be run: {error}", severity="error", markup=False)
                return None
            return path.read_text("utf-8", "replace")

    def action_review(self) -> None:
        """Review the oldest build that waits."""
        if self.replaying or isinstance(self.screen, ApprovalScreen):
            return
        if pending(self.main.view):
            self.push_screen(ApprovalScreen(self.main.view))
        else:
            self.notify("No build waits for a verdict.", markup=False, timeout=3)

    # --- around the session ---------------------------------------------------------------

    @work(name="sessions", group="screen", exclusive=True, exit_on_error=False)
    async def action_sessions(self) -> None:
        """Choose another session."""
        try:
            lines = await self._catalog.sessions()
        except AlitaError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        chosen = await self.push_screen_wait(SessionsScreen(lines, current=self.main.view.session_id))
        if chosen is not None:
            self.exit(chosen)

    def action_new_session(self) -> None:
        """Begin another session."""
        self.exit(Switch())

    @on(SessionScreen.ToolAsked)
    @on(ToolScreen.VersionAsked)
    def _tool_asked(self, message: SessionScreen.ToolAsked | ToolScreen.VersionAsked) -> None:
        self._show_tool(message.name, getattr(message, "version", None))

    @work(name="tool", group="tool", exclusive=True, exit_on_error=False)
    async def _show_tool(self, name: str, version: int | None) -> None:
        try:
            record = await self._catalog.tool(name, version)
        except AlitaError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        if isinstance(self.screen, ToolScreen):
            self.screen.show(record)
        else:
            self.push_screen(ToolScreen(record))

    @on(SessionScreen.CopyAsked)
    @on(ToolScreen.CopyAsked)
    def _copy(self, message: SessionScreen.CopyAsked | ToolScreen.CopyAsked) -> None:
        self._to_clipboard(message.text)

    def _to_clipboard(self, text: str) -> None:
        self.copy_to_clipboard(text)
        self.notify(
            f"Sent {len(text)} characters to the terminal's clipboard (OSC 52)", markup=False, timeout=3
        )

    @work(name="theme", group="screen", exclusive=True, exit_on_error=False)
    async def action_theme(self) -> None:
        """Choose a theme."""
        chosen = await self.push_screen_wait(ThemePicker(self._theme_names, self.theme))
        if chosen is not None:
            self.theme = chosen
            try:
                await self._catalog.save_theme(chosen)
            except AlitaError as error:
                self.notify(one_line(str(error)), severity="warning", markup=False)

    @on(ThemePicker.Previewed)
    def _preview(self, message: ThemePicker.Previewed) -> None:
        self.theme = message.name

    def action_help(self) -> None:
        """Every key."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self._keys, replay=self.replaying))

    def action_ladder(self) -> None:
        """Copy, else interrupt, else clear, else quit on the second press."""
        selected = self.screen.get_selected_text()
        if selected:
            self._to_clipboard(selected)
            self.screen.clear_selection()
        elif monotonic() - self._pressed < _TWICE_SECONDS:
            self.exit()
        elif self.main.view.busy and not self.replaying and self.main.view.phase != "waiting":
            self.main.action_interrupt()
            self._pressed = monotonic()
        elif not self.main.clear():
            self._pressed = monotonic()
            self.notify("Press again to quit; the session is saved.", markup=False, timeout=2)
