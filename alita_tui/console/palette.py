"""The command palette: the table of actions, every theme, every tool of the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Protocol, runtime_checkable

from textual.command import DiscoveryHit, Hit, Hits, Provider

from alita_tui.console.actions import ACTIONS


@runtime_checkable
class Commanded(Protocol):
    """What the palette needs of the app."""

    @property
    def replaying(self) -> bool:
        """True when nothing can be sent."""

    def tool_names(self) -> tuple[str, ...]:
        """The tools of the library."""

    def theme_names(self) -> tuple[str, ...]:
        """The themes that were read."""

    async def show_tool(self, name: str) -> None:
        """Open a tool."""

    async def use_theme(self, name: str) -> None:
        """Put a theme on and keep it."""


Entry = tuple[str, str, Callable[[], Awaitable[object]]]


class Commands(Provider):
    """Everything that can be done, by name."""

    def _entries(self) -> Iterator[Entry]:
        app = self.app
        if not isinstance(app, Commanded):
            return
        for one in ACTIONS:
            if one.palette and (one.replay if app.replaying else one.live):
                where = "app." if one.owner == "app" else "screen."
                yield one.palette, one.tooltip, partial(self._run, where + one.run)

    def _things(self) -> Iterator[Entry]:
        app = self.app
        if not isinstance(app, Commanded):
            return
        for name in app.theme_names():
            yield f"theme: {name}", "Put this theme on and keep it", partial(app.use_theme, name)
        for name in app.tool_names():
            yield f"tool: {name}", "Show this tool whole", partial(app.show_tool, name)

    async def _run(self, action: str) -> None:
        await self.app.run_action(action)

    async def discover(self) -> Hits:
        """The actions, before anything is typed."""
        for name, tooltip, call in self._entries():
            yield DiscoveryHit(name, call, help=tooltip)

    async def search(self, query: str) -> Hits:
        """What fits."""
        matcher = self.matcher(query)
        for name, tooltip, call in (*self._entries(), *self._things()):
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), call, help=tooltip)
