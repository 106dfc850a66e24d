"""The agent's access to the web: search with one provider after the other, read one page."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from alita_tui.spine.address import AddressPolicy, Resolver
from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.web import PackageFacts, Page, SearchPage, WebSettings
from alita_tui.spine.requirements import NPM
from alita_tui.spine.text import one_line
from alita_tui.web.dns import system_resolver
from alita_tui.web.fetch import Fetcher
from alita_tui.web.packages import npm_facts, package_facts
from alita_tui.web.pages import PageStore
from alita_tui.web.reader import read_page
from alita_tui.web.robots import Robots
from alita_tui.web.search import KINDS, Searches, Secret

_USER_AGENT = "Mozilla/5.0 (compatible; alita-tui)"


class WebRoom:
    """Implements `Web` and `PackageIndex`. Raises ConfigError for a wrong entry in `allowed_private`."""

    def __init__(
        self,
        settings: WebSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        resolver: Resolver = system_resolver,
        pages: Callable[[], Documents] | None = None,
        secret: Secret | None = None,
        clock: Callable[[], float] = time.monotonic,
        max_chars: int = 200_000,
        results: int = 8,
    ) -> None:
        """`max_chars`: of the readable text of a page; `results`: of one search.

        `pages` opens the table of pages read before, which are fetched only if they changed; `secret` returns
        a provider's key by its name.
        """
        self._settings = settings
        self._max_chars = max_chars
        shape = (max_chars, settings.max_bytes, settings.max_pdf_bytes)
        self._pages = PageStore(pages, shape) if pages is not None else None
        self._fetcher = Fetcher(
            AddressPolicy(resolver, settings.allowed_private),
            timeout=settings.timeout,
            max_bytes=settings.max_bytes,
            user_agent=_USER_AGENT,
            environ=environ,
        )
        self._robots = Robots(self._fetcher) if settings.robots else None
        self._searches = Searches(self._fetcher, settings, secret or environ.get, clock, results)

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        """Return results of one kind (empty: the settings'); if a provider fails, the next is asked. Raise WebError."""
        words = one_line(query, 240)
        if not words:
            raise WebError("The search is empty.", hint="Say what to look for in a few words.")
        chosen = provider or self._settings.provider
        kind = next((kind for kind in KINDS if kind == chosen), None)
        if kind is None:
            raise WebError(
                f"There is no search of {one_line(chosen, 40)!r}.", hint=f"Choose one of: {', '.join(KINDS)}."
            )
        return await self._searches.search(words, kind)

    async def read(self, url: str) -> Page:
        """Return one page as text. Raise WebError, AddressRefused."""
        return await read_page(
            self._fetcher,
            url,
            max_chars=self._max_chars,
            max_pdf_bytes=self._settings.max_pdf_bytes,
            robots=self._robots,
            store=self._pages,
        )

    async def package(self, name: str, version: str) -> PackageFacts | None:
        """Return facts about one version; None if the index does not answer or does not know it."""
        try:
            if name.startswith(NPM):
                return await npm_facts(self._fetcher, self._settings.npm_url, name, version)
            return await package_facts(self._fetcher, self._settings.pypi_url, name, version)
        except WebError:
            return None

    async def close(self) -> None:
        """Close connections; later requests raise WebError."""
        await self._fetcher.close()
