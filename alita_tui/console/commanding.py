"""The app's part in commands: the list of keys, jump mode, the palette, tabs of running sessions, and drafts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from textual import work

from alita_tui.console.drafts import COMPOSER
from alita_tui.console.ports import ConsoleOptions, Switch
from alita_tui.console.replay.navigation import ReplayNavigation
from alita_tui.console.session.tabbed import Tabbed
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line

LOOKS = 5.0
"""Seconds between two reads of what runs in the background."""


class Commanding(ReplayNavigation):
    """Base of the app."""

    _options: ConsoleOptions

    if TYPE_CHECKING:

        @property
        def replaying(self) -> bool:
            """Whether nothing can be sent."""

        def tool_names(self) -> tuple[str, ...]:
            """Return the names of the library's tools."""

        def theme_names(self) -> tuple[str, ...]:
            """Return the names of the themes that were read."""

        async def show_tool(self, name: str) -> None:
            """Open a tool of the library."""

        async def use_theme(self, name: str) -> None:
            """Switch to a theme and save the choice."""

    def action_help(self) -> None:
        """List every key of the current screen; a second press closes the list."""
        from alita_tui.console.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen(self.screen, self._options.keymap, replay=self.replaying))

    def on_tabbed_session_asked(self, message: Tabbed.SessionAsked) -> None:
        """Show another session in place of this one, which continues in the background."""
        self.exit(Switch(message.session_id))

    @work(name="running", group="running", exclusive=True, exit_on_error=False)
    async def look_elsewhere(self) -> None:
        """Show a tab for each session that runs in the background."""
        with suppress(AlitaError):
            self.main.elsewhere(await self._catalog.running())

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

    @work(name="drafts", group="drafts", exclusive=True, exit_on_error=False)
    async def _open_drafts(self, session_id: str) -> None:
        self.main.restore((await self.drafts.open(session_id)).get(COMPOSER, ""))
        if self.drafts.failed:
            self.notify(f"What you type is not kept: {one_line(self.drafts.failed)}", markup=False)
