"""The app's part in the statistics: opening them, and going to what a figure rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from alita_tui.console.evaluations.opening import EvaluationsOpener
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.statistics.screen import StatisticsScreen


class StatisticsOpener(EvaluationsOpener):
    """Base of the app: shows the statistics of all sessions."""

    if TYPE_CHECKING:

        def _to_clipboard(self, text: str) -> None: ...

        async def show_tool(self, name: str) -> None:
            """Open a tool of the library."""

    def action_statistics(self) -> None:
        """Show where money and time go."""
        from alita_tui.console.statistics.screen import StatisticsScreen

        if self.screen is self.main:
            self.push_screen(StatisticsScreen(self._catalog, self._keys))

    def on_statistics_screen_place_asked(self, message: StatisticsScreen.PlaceAsked) -> None:
        """Replay a session at an event."""
        self._look(message.session_id, message.seq or None)

    async def on_statistics_screen_tool_asked(self, message: StatisticsScreen.ToolAsked) -> None:
        """Open the tool that an advice is about."""
        await self.show_tool(message.name)

    @work(name="setting", group="statistics", exclusive=True, exit_on_error=False)
    async def on_statistics_screen_setting_asked(self, message: StatisticsScreen.SettingAsked) -> None:
        """Open the setting that an advice is about."""
        from alita_tui.console.settings.screen import SettingsScreen

        try:
            lines = await self._catalog.settings()
        except AlitaError as error:
            self.notify(one_line(str(error)), severity="warning", markup=False)
            return
        self.push_screen(SettingsScreen(lines, self._catalog.change_setting, wanted=message.key))

    def on_statistics_screen_copy_asked(self, message: StatisticsScreen.CopyAsked) -> None:
        """Copy a command."""
        self._to_clipboard(message.text)
