"""The command palette: actions, themes and tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from alita_tui.console.action_table import ACTIONS

if TYPE_CHECKING:
    from alita_tui.console.app import AlitaApp


Entry = tuple[str, str, Callable[[], Awaitable[object]]]


class Commands(Provider):
    """Searches actions, themes and tools by name."""

    @property
    def _console(self) -> AlitaApp:
        return cast("AlitaApp", self.app)

    def _entries(self) -> Iterator[Entry]:
        app = self._console
        for one in ACTIONS:
            if one.palette and (one.replay if app.replaying else one.live):
                where = "app." if one.owner == "app" else "screen."
                yield one.palette, one.tooltip, partial(self._run, where + one.run)

    def _things(self) -> Iterator[Entry]:
        app = self._console
        for name in app.theme_names():
            yield f"theme: {name}", "Put this theme on and keep it", partial(app.use_theme, name)
        for name in app.tool_names():
            yield f"tool: {name}", "Show this tool whole", partial(app.show_tool, name)

    async def _run(self, action: str) -> None:
        await self.app.run_action(action)

    async def discover(self) -> Hits:
        """List the actions before anything is typed."""
        for name, tooltip, call in self._entries():
            yield DiscoveryHit(name, call, help=tooltip)

    async def search(self, query: str) -> Hits:
        """List what matches the query."""
        matcher = self.matcher(query)
        for name, tooltip, call in (*self._entries(), *self._things()):
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), call, help=tooltip)
