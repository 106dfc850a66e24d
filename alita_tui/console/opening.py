"""The app's part in the dialogs: opening them, and what only one of them asks for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from textual import on, work

from alita_tui.console.messages import CommandAsked, ToolAsked
from alita_tui.console.ports import ConsoleOptions, Upkeep
from alita_tui.console.replay.navigation import ReplayNavigation
from alita_tui.events import MoveKind
from alita_tui.spine.commands import RefreshLibrary
from alita_tui.spine.errors import AlitaError

if TYPE_CHECKING:
    # Dialogs are imported when they open: the first paint needs only the session's screen.
    from alita_tui.console.evaluations.screen import EvaluationsScreen
    from alita_tui.console.library.tool import ToolScreen
    from alita_tui.console.settings.theme_picker import ThemePicker
    from alita_tui.console.setup.screen import SetupScreen
    from alita_tui.console.statistics.screen import StatisticsScreen
    from alita_tui.console.tasks.screen import TasksScreen


class DialogOpener(ReplayNavigation):
    """Base of the app: opens the dialogs over the session."""

    _options: ConsoleOptions
    _upkeep: Upkeep | None
    theme_names: tuple[str, ...] = ()
    """The names of the themes that were read."""

    # --- commands and keys ------------------------------------------------------------------

    def action_help(self) -> None:
        """List every key of the current screen; a second press closes the list."""
        from alita_tui.console.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen(self.screen, self._options.keymap, replay=self.replaying))

    def action_jump(self) -> None:
        """Show a letter on everything that can take the cursor."""
        from alita_tui.console.jump import JumpScreen, spots

        if not isinstance(self.screen, JumpScreen):
            self.push_screen(JumpScreen(spots(self.screen)))

    def action_palette(self) -> None:
        """Find any command."""
        from alita_tui.console.palette import PaletteScreen, entries

        if not isinstance(self.screen, PaletteScreen):
            self.push_screen(PaletteScreen(entries(self, self.screen)))

    # --- the session ------------------------------------------------------------------------

    def action_tasks(self) -> None:
        """Show the running task, those that wait, and the queue."""
        from alita_tui.console.tasks.screen import TasksScreen

        self.push_screen(TasksScreen(self.main.view, self._keys, may_change=not self.replaying))

    def on_tasks_screen_alone(self, message: TasksScreen.Alone) -> None:
        """Show one task's rows only."""
        self.main.only(message.task_id)

    @work(name="spend", group="screen", exclusive=True, exit_on_error=False)
    async def action_spend(self) -> None:
        """Show money, tokens and models, of the recording on screen if one is open."""
        from alita_tui.console.session.screen import SessionScreen
        from alita_tui.console.spend.screen import SpendScreen

        if not isinstance(self.screen, SessionScreen):
            return
        view = self.screen.view
        try:
            days, prices = await self._catalog.days(), await self._catalog.prices()
        except AlitaError as error:
            self.complain(error)
            days, prices = {}, ""
        self.push_screen(SpendScreen(view, self._keys, days=days, prices=prices))

    def action_context(self) -> None:
        """Show what the next call would send."""
        from alita_tui.console.context.screen import ContextScreen

        if not self.replaying:
            look = partial(self._catalog.next_call, self.main.view.session_id)
            self.push_screen(ContextScreen(self.main.view, self._keys, look))

    def action_sandbox(self) -> None:
        """Show containers, pool, environments, limits and the last runs."""
        from alita_tui.console.sandbox.screen import SandboxScreen

        self.push_screen(SandboxScreen(self.main.view, self._keys, self._upkeep))

    def action_servers(self) -> None:
        """Show the MCP servers and how they stand."""
        from alita_tui.console.servers.screen import ServersScreen

        may_change = not self.replaying
        self.push_screen(
            ServersScreen(self.main.view, self._catalog, self._keys, self._clock, may_change=may_change)
        )

    # --- all sessions -----------------------------------------------------------------------

    def action_memory(self) -> None:
        """Show what is remembered."""
        from alita_tui.console.memory.screen import MemoryScreen

        may_change = not self.replaying
        self.push_screen(MemoryScreen(self._catalog, self._keys, self._clock, may_change=may_change))

    def action_statistics(self) -> None:
        """Show where money and time go."""
        from alita_tui.console.statistics.screen import StatisticsScreen

        self.push_screen(StatisticsScreen(self._catalog, self._keys))

    def on_statistics_screen_setting_asked(self, message: StatisticsScreen.SettingAsked) -> None:
        """Open the setting that an advice is about."""
        self._open_settings(message.key)

    def action_evaluations(self) -> None:
        """Show the runs of suites."""
        from alita_tui.console.evaluations.screen import EvaluationsScreen

        may_begin = not self.replaying
        self.push_screen(EvaluationsScreen(self._catalog, self._keys, self._clock, may_begin=may_begin))

    @work(name="look", group="look", exclusive=True, exit_on_error=False)
    async def on_evaluations_screen_case_asked(self, message: EvaluationsScreen.CaseAsked) -> None:
        """Replay a case, where it went wrong."""
        try:
            player = await self._catalog.case_player(message.case)
        except AlitaError as error:
            self.complain(error)
            return
        self._push_replay(player, message.case.at or None, rewound=False)

    # --- settings ---------------------------------------------------------------------------

    def action_settings(self) -> None:
        """List every setting."""
        self._open_settings()

    @work(name="settings", group="screen", exclusive=True, exit_on_error=False)
    async def _open_settings(self, wanted: str = "") -> None:
        """List every setting, with the cursor on the `wanted` one."""
        from alita_tui.console.settings.screen import SettingsScreen

        try:
            lines = await self._catalog.settings()
        except AlitaError as error:
            self.complain(error)
            return
        self.push_screen(SettingsScreen(lines, self._catalog.change_setting, self._keys, wanted=wanted))

    @work(name="setup", group="screen", exclusive=True, exit_on_error=False)
    async def action_setup(self) -> None:
        """Open the setup wizard over the session."""
        try:
            self.push_screen(await self._catalog.wizard())
        except AlitaError as error:
            self.complain(error)

    async def on_setup_screen_done(self, message: SetupScreen.Done) -> None:
        """Apply the wizard's result; the open session continues unchanged."""
        if message.result.kind == "skipped":
            return
        try:
            if message.result.kind == "demo":
                await self._catalog.change_setting("model.provider", "demo")
        except AlitaError as error:
            self.complain(error)
            return
        self.notify("Takes effect in the next session.")

    @work(name="theme", group="screen", exclusive=True, exit_on_error=False)
    async def action_theme(self) -> None:
        """Choose a theme."""
        from alita_tui.console.settings.theme_picker import ThemePicker

        chosen = await self.push_screen_wait(ThemePicker(self.theme_names, self.theme))
        if chosen is not None:
            await self.use_theme(chosen)

    def on_theme_picker_previewed(self, message: ThemePicker.Previewed) -> None:
        """Preview the highlighted theme."""
        self.theme = message.name

    async def use_theme(self, name: str) -> None:
        """Switch to a theme and save the choice."""
        self.theme = name
        try:
            await self._catalog.save_theme(name)
        except AlitaError as error:
            self.complain(error)

    # --- tools of the library ---------------------------------------------------------------

    @on(ToolAsked)
    def _tool_asked(self, message: ToolAsked) -> None:
        self.open_tool(message.name)

    def on_tool_screen_move_asked(self, message: ToolScreen.MoveAsked) -> None:
        """Change the state of a tool's version."""
        self.open_tool(message.name, message.kind, message.version)

    @work(name="tool", group="tool", exclusive=True, exit_on_error=False)
    async def open_tool(
        self, name: str, kind: MoveKind | Literal["undo", ""] = "", version: int | None = None
    ) -> None:
        """Show a tool, after applying `kind` to a version of it. The past changes nothing."""
        from alita_tui.console.library.tool import ToolScreen

        if kind and self.replaying:
            return
        try:
            if kind:
                lineage = await self._catalog.move(name, kind, version)
                self.notify(f"{name}: {kind} is done.", timeout=3)
                self.post_message(CommandAsked(RefreshLibrary()))
            else:
                lineage = await self._catalog.lineage(name)
        except AlitaError as error:
            self.complain(error)
            return
        problem = await self._problem_of(name, lineage.current)
        if isinstance(self.screen, ToolScreen):
            self.screen.show(lineage, problem)
        else:
            self.push_screen(ToolScreen(lineage, problem=problem, may_move=not self.replaying))

    async def _problem_of(self, name: str, version: int | None) -> str:
        """Return why the current version cannot run; empty if it can, or if there is none."""
        try:
            if version is not None:
                await self._catalog.tool(name, version)
        except AlitaError as error:
            return str(error)
        return ""
