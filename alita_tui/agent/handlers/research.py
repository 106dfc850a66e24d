"""Actions that look for something: find_tool, search_web, read_page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from alita_tui import events as e
from alita_tui.agent.actions import Action, FindTool, ReadPage, SearchWeb
from alita_tui.agent.handlers import Handler
from alita_tui.agent.tasks import CurrentTask
from alita_tui.agent.tool_cards import with_runs
from alita_tui.events import NearMiss, SearchHit, Source
from alita_tui.spine.bus import Bus
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.web import Web

_EXCERPT = 800
"""Characters of a page that the toolsmith is shown."""
_RESULTS = 3
"""Results of each web search that the toolsmith is shown."""
_SOURCES = 5


class ResearchHandlers:
    """Handles find_tool, search_web and read_page."""

    def __init__(self, bus: Bus, shelf: ToolShelf, web: Web) -> None:
        self._bus = bus
        self._shelf = shelf
        self._web = web

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {FindTool: self.find_tool, SearchWeb: self.search_web, ReadPage: self.read_page}

    async def find_tool(self, action_id: str, action: FindTool) -> None:
        """Search the library."""
        result = await asyncio.to_thread(self._shelf.search, action.query)
        await self._bus.emit(
            e.ToolSearched(
                action_id=action_id,
                query=action.query,
                hits=with_runs(result.hits, self._bus.history),
                near_misses=result.near_misses,
            ),
            span=action_id,
        )

    async def search_web(self, action_id: str, action: SearchWeb) -> None:
        """Search the web. Raises WebError."""
        page = await self._web.search(action.query, provider=action.provider)
        await self._bus.emit(
            e.WebSearched(
                action_id=action_id, query=action.query, provider=page.provider, results=page.results
            ),
            span=action_id,
        )

    async def read_page(self, action_id: str, action: ReadPage) -> None:
        """Read a page. Raises WebError."""
        page = await self._web.read(action.url)
        await self._bus.emit(
            e.PageRead(
                action_id=action_id,
                url=page.url,
                title=page.title,
                text=page.text,
                truncated=page.truncated,
                unchanged=page.unchanged,
            ),
            span=action_id,
        )


def research(task: CurrentTask) -> tuple[tuple[NearMiss, ...], tuple[Source, ...]]:
    """Return what the task found so far: the near misses of its searches, and the pages it saw."""
    near: tuple[NearMiss, ...] = ()
    sources: dict[str, Source] = {}
    for envelope in reversed(task.events()):
        match envelope.event:
            case e.ToolSearched(hits=hits, near_misses=misses):
                near = (*map(_near_miss, hits), *misses)
            case e.WebSearched(results=results):
                for result in results[:_RESULTS]:
                    sources[result.url] = Source(url=result.url, title=result.title, excerpt=result.snippet)
            case e.PageRead(url=url, title=title, text=text):
                sources[url] = Source(url=url, title=title, excerpt=text[:_EXCERPT])
            case _:
                pass
    return near, tuple(sources.values())[-_SOURCES:]


def _near_miss(hit: SearchHit) -> NearMiss:
    card = hit.card
    return NearMiss(name=card.name, version=card.version, score=hit.score, description=card.description)
