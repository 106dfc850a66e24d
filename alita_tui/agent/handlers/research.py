"""Actions that search and read: find_tool, search_web, read_page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

import msgspec

from alita_tui import events as e
from alita_tui.agent.acting import Handler
from alita_tui.agent.actions import Action, FindTool, ReadPage, SearchWeb
from alita_tui.agent.passages import around_words, piece
from alita_tui.agent.tasks import CurrentTask
from alita_tui.agent.tool_cards import with_runs
from alita_tui.events import NearMiss, PageRead, SearchHit, Source
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import UsageError
from alita_tui.spine.grants import BROWSER_OFF
from alita_tui.spine.history import History, of_kind
from alita_tui.spine.ports.artefacts import Artefacts
from alita_tui.spine.ports.library import SearchResult, ToolShelf
from alita_tui.spine.ports.web import Page, Web
from alita_tui.spine.text import one_line

SOURCES = 60_000
"""Characters of pages and search results that a build is given."""
_RESULTS = 10
"""Number of unopened search results among them."""


_ALLOW = f"{BROWSER_OFF} Pages are then read by it too where their hosts are in web.browser_hosts."


class ResearchHandlers:
    """Handles find_tool, search_web and read_page."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        shelf: ToolShelf,
        web: Web,
        artefacts: Artefacts,
        may: Callable[[str], bool] = lambda _: True,
        browser: Callable[[], bool] = lambda: False,
    ) -> None:
        """`may` returns whether the present agent may use a tool, `browser` whether tools may be granted a browser."""
        self._browser = browser
        self._may = may
        self._bus = bus
        self._task = task
        self._shelf = shelf
        self._web = web
        self._artefacts = artefacts

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {FindTool: self.find_tool, SearchWeb: self.search_web, ReadPage: self.read_page}

    async def find_tool(self, action_id: str, action: FindTool) -> None:
        """Search the library."""
        result = await self._shelf.find(action.query)
        if origin.delegate():
            result = msgspec.structs.replace(
                result,
                hits=tuple(hit for hit in result.hits if self._may(hit.card.name)),
                near_misses=tuple(miss for miss in result.near_misses if self._may(miss.name)),
            )
        await self._bus.emit(searched(action_id, action.query, result, self._bus.history), span=action_id)

    async def search_web(self, action_id: str, action: SearchWeb) -> None:
        """Search the web. Raises WebError."""
        page = await self._web.search(action.query, provider=action.provider)
        await self._bus.emit(
            e.WebSearched(
                action_id=action_id,
                query=action.query,
                provider=page.provider,
                results=page.results,
                failed=page.failed,
            ),
            span=action_id,
        )

    async def read_page(self, action_id: str, action: ReadPage) -> None:
        """Read a page, or another part of one that this task has read. Raises WebError, StoreError."""
        copy = self._copy(action.url) if action.offset or action.find else None
        fetched = copy or await self._web.read(action.url)
        page = self._bus.redacted(msgspec.structs.replace(fetched, body=b""))
        handle = "" if copy else await self._stored(action_id, fetched, page)
        # redacted before it is cut: half a key at the edge of a part would not be recognised
        browser_off = page.scripts == "needed" and not self._browser()
        part = around_words(page.text, action.find) if action.find else piece(page.text, action.offset)
        await self._bus.emit(
            PageRead(
                action_id=action_id,
                url=page.url,
                title=page.title,
                text=part.text,
                whole="" if copy or part.text == page.text else page.text,
                total=len(page.text),
                start=part.start,
                find=action.find,
                matches=part.matches,
                copied=copy is not None,
                asked="" if page.url == action.url else action.url,
                truncated=page.truncated,
                unchanged=page.unchanged and copy is None,
                handle=handle,
                scripts=page.scripts,
                refused=page.refused,
                browser_off=browser_off,
            ),
            span=action_id,
        )
        if browser_off:
            await self._say_browser_is_off(page.url)

    async def _say_browser_is_off(self, url: str) -> None:
        """Tell the person, once in a session, how tools and pages get a browser."""
        text = f"The page of {one_line(urlsplit(url).netloc, 80)} needs scripts, and no browser is allowed."
        if not any(notice.hint == _ALLOW for notice in of_kind(self._bus.history, e.NoticeRaised)):
            await self._bus.emit(e.NoticeRaised(level="info", text=text, hint=_ALLOW))

    async def _stored(self, action_id: str, fetched: Page, page: Page) -> str:
        """Record what was fetched as an artefact; return its handle, empty if it is larger than a file may be."""
        address = urlsplit(page.url)
        name = PurePosixPath(unquote(address.path)).name or address.hostname or "page"
        data, name = (fetched.body, name) if fetched.body else (page.text.encode(), f"{name}.txt")
        try:
            artefact = await self._bus.save_with(self._artefacts.add_bytes, data, name)
        except UsageError:
            return ""
        added = e.ArtefactAdded(artefact=artefact, origin="page", source=action_id)
        await self._bus.emit(added, span=action_id)
        return artefact.handle

    def _copy(self, url: str) -> Page | None:
        """Return a page as this task read it last."""
        for event in _pages(self._task):
            if url in (event.url, event.asked):
                text = event.whole or event.text
                return Page(url=event.url, title=event.title, text=text, truncated=event.truncated)
        return None


def searched(action_id: str, query: str, result: SearchResult, history: History) -> e.ToolSearched:
    """Return the event of a search of the library."""
    return e.ToolSearched(
        action_id=action_id,
        query=query,
        hits=with_runs(result.hits, history),
        near_misses=result.near_misses,
        band=result.band,
        chance=result.chance,
        prior=result.prior,
        evidence=result.evidence,
    )


def _pages(task: CurrentTask) -> Iterable[PageRead]:
    """Return the pages that a task fetched, the newest first."""
    return (page for page in task.newest(PageRead) if not page.copied)


def research(task: CurrentTask) -> tuple[tuple[NearMiss, ...], tuple[Source, ...]]:
    """Return what the task found so far: the near misses of its last search, and what it read.

    Pages come first, whole, the newest before the others; then the results of its searches.
    """
    near: tuple[NearMiss, ...] | None = None
    results: dict[str, Source] = {}
    sources: dict[str, Source] = {}
    for page in _pages(task):
        text = page.whole or page.text
        sources.setdefault(page.url, Source(url=page.url, title=page.title, excerpt=text))
    for event in task.newest(e.ToolSearched, e.WebSearched):
        match event:
            case e.ToolSearched(hits=hits, near_misses=misses) if near is None:
                near = (*map(_near_miss, hits), *misses)
            case e.WebSearched(results=listed):
                for hit in listed:
                    results.setdefault(hit.url, Source(url=hit.url, title=hit.title, excerpt=hit.snippet))
            case _:
                pass
    unopened = [result for url, result in results.items() if url not in sources][:_RESULTS]
    return near or (), tuple(_within(SOURCES, (*sources.values(), *unopened)))


def _within(room: int, sources: Iterable[Source]) -> Iterable[Source]:
    """Yield the sources that fit, the last one of them cut."""
    for source in sources:
        if room <= 0:
            return
        excerpt = source.excerpt[:room]
        yield Source(url=source.url, title=source.title, excerpt=excerpt)
        room -= len(excerpt) + len(source.url) + len(source.title)


def _near_miss(hit: SearchHit) -> NearMiss:
    card = hit.card
    return NearMiss(name=card.name, version=card.version, score=hit.score, description=card.description)
