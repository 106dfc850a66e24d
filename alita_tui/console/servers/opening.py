"""The app's part in the servers: opening their screen, and hearing that the library changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.console.replay.navigation import ReplayNavigation
from alita_tui.spine.commands import RefreshLibrary
from alita_tui.spine.ports.stream import CommandSink

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.servers.approving import ToolApproval
    from alita_tui.console.servers.screen import ServersScreen


class ServersOpener(ReplayNavigation):
    """Base of the app: shows the MCP servers."""

    if TYPE_CHECKING:

        @property
        def _sink(self) -> CommandSink | None: ...

    def action_servers(self) -> None:
        """Show the MCP servers and how they stand."""
        from alita_tui.console.servers.screen import ServersScreen

        if self.screen is self.main:
            may_change = self._sink is not None
            here = ServersScreen(
                self.main.view, self._catalog, self._keys, self._clock, may_change=may_change
            )
            self.push_screen(here)

    def on_tool_approval_approved(self, message: ToolApproval.Approved) -> None:
        """Let the session see the tool that was approved, and the screen below say so."""
        from alita_tui.console.servers.screen import ServersScreen

        if self._sink is not None:
            self._sink.send(RefreshLibrary())
        for screen in self.screen_stack:
            if isinstance(screen, ServersScreen):
                screen.approved(message.said)

    def on_servers_screen_removed(self, _: ServersScreen.Removed) -> None:
        """Let the session see that tools were archived."""
        if self._sink is not None:
            self._sink.send(RefreshLibrary())
