"""The web as the agent uses it: search with one provider, read one page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from alita_tui.events import Value
from alita_tui.spine.address import AddressPolicy, Resolver
from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.web import PackageFacts, Page, SearchPage
from alita_tui.spine.text import one_line
from alita_tui.web import providers
from alita_tui.web.dns import system_resolver
from alita_tui.web.fetch import Fetcher
from alita_tui.web.packages import package_facts
from alita_tui.web.pages import PageStore
from alita_tui.web.reader import read_page

PROVIDERS = ("web", "github", "pypi")


class WebSettings(Value, frozen=True):
    """Where the providers are and what one request may cost."""

    duckduckgo_url: str = "https://html.duckduckgo.com/html/"
    """Keyless search: DuckDuckGo's page for browsers without scripts."""
    google_url: str = "https://www.googleapis.com/customsearch/v1"
    github_url: str = "https://api.github.com"
    pypi_url: str = "https://pypi.org"
    google_key: str = ""
    """Key of Google Programmable Search; used for `web` when `google_cx` is set too."""
    google_cx: str = ""
    github_token: str = ""
    """Optional; raises GitHub's rate limit."""
    allowed_private: tuple[str, ...] = ()
    """Private hosts that may be read, as `host`, `host:port` or CIDR."""
    provider: str = "web"
    """What is asked when a search names no provider."""
    timeout: float = 20.0
    """Seconds for one request, redirects included."""
    max_bytes: int = 2_000_000
    """Of one page, unpacked; the rest is cut."""
    max_chars: int = 20_000
    """Of the readable text of one page."""
    results: int = 8
    """At most, of one search."""
    user_agent: str = "Mozilla/5.0 (compatible; alita-tui)"


class WebRoom:
    """Meets `Web` and `PackageIndex`. Raises ConfigError for a wrong entry in `allowed_private`."""

    def __init__(
        self,
        settings: WebSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        resolver: Resolver = system_resolver,
        pages: Callable[[], Documents] | None = None,
    ) -> None:
        """`pages` opens the table of what was read before, to be asked for only if it changed."""
        self._settings = settings
        shape = (settings.max_chars, settings.max_bytes)
        self._pages = PageStore(pages, shape) if pages is not None else None
        self._fetcher = Fetcher(
            AddressPolicy(resolver, settings.allowed_private),
            timeout=settings.timeout,
            max_bytes=settings.max_bytes,
            user_agent=settings.user_agent,
            environ=environ,
        )

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        """Search with one provider (`web`, `github`, `pypi`; empty: the settings'). Raise WebError."""
        words = one_line(query, 240)
        if not words:
            raise WebError("The search is empty.", hint="Say what to look for in a few words.")
        match provider or self._settings.provider:
            case "web":
                return await self._web(words)
            case "github":
                s = self._settings
                results = await providers.github(
                    self._fetcher, s.github_url, s.github_token, words, s.results
                )
                return SearchPage(provider="github", results=results)
            case "pypi":
                results = await providers.pypi(self._fetcher, self._settings.pypi_url, words)
                if results:
                    return SearchPage(provider="pypi", results=results[: self._settings.results])
                return await self._web(f"site:pypi.org {words}")
            case unknown:
                raise WebError(
                    f"There is no search provider {one_line(unknown, 40)!r}.",
                    hint=f"Choose one of: {', '.join(PROVIDERS)}.",
                )

    async def _web(self, query: str) -> SearchPage:
        s = self._settings
        if s.google_key and s.google_cx:
            results = await providers.google(
                self._fetcher, s.google_url, s.google_key, s.google_cx, query, s.results
            )
            return SearchPage(provider="google", results=results)
        results = await providers.duckduckgo(self._fetcher, s.duckduckgo_url, query, s.results)
        return SearchPage(provider="duckduckgo", results=results)

    async def read(self, url: str) -> Page:
        """Read one page as text. Raise WebError, AddressRefused."""
        return await read_page(self._fetcher, url, max_chars=self._settings.max_chars, store=self._pages)

    async def package(self, name: str, version: str) -> PackageFacts | None:
        """Return facts of one version; None where the index does not answer or does not know it."""
        try:
            return await package_facts(self._fetcher, self._settings.pypi_url, name, version)
        except WebError:
            return None

    async def close(self) -> None:
        """Close connections; later requests raise WebError."""
        await self._fetcher.close()
