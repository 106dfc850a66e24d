"""The web, the package index, and known faults of packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from alita_tui.events.base import Value
from alita_tui.events.tool import LockedPackage
from alita_tui.events.web import Scripts, SearchFailure, WebResult

WebProvider = Literal["searxng", "brave", "tavily", "google", "duckduckgo"]
"""Who searches the whole web, in the order in which they are asked."""
SearchProvider = Literal[WebProvider, "github", "github_code", "github_readmes", "pypi"]
"""Everybody who can be asked."""
SearchKind = Literal["web", "github", "github_code", "github_readmes", "pypi"]
"""What can be searched."""


class WebSettings(Value, frozen=True):
    """Searching and reading. Keys are never settings: their names are, and the keys are kept elsewhere."""

    provider: SearchKind = "web"
    """What is searched where a search does not say: `web`, `github`, `github_code`, `github_readmes` or `pypi`."""
    search_order: tuple[WebProvider, ...] = ()
    """Search providers in the order they are asked; empty: those with a key or address, DuckDuckGo last."""
    searxng_url: str = ""
    """Address of a SearXNG instance that allows the format json; empty: none."""
    brave_url: str = "https://api.search.brave.com/res/v1/web/search"
    """Brave's search API, used if its key is set."""
    brave_key_name: str = "BRAVE_API_KEY"
    """Name under which Brave's key is kept."""
    tavily_url: str = "https://api.tavily.com/search"
    """Tavily's search API, used if its key is set."""
    tavily_key_name: str = "TAVILY_API_KEY"
    """Name under which Tavily's key is kept."""
    duckduckgo_url: str = "https://html.duckduckgo.com/html/"
    """DuckDuckGo's page for browsers without scripts: no key."""
    google_url: str = "https://www.googleapis.com/customsearch/v1"
    """Google Programmable Search, used if its key and `google_cx` are set."""
    google_key_name: str = "GOOGLE_API_KEY"
    """Name under which the key of Google Programmable Search is kept."""
    google_cx: str = ""
    """Identifier of the programmable search engine."""
    github_url: str = "https://api.github.com"
    """GitHub's REST API."""
    github_token_name: str = "GITHUB_TOKEN"  # noqa: S105 - a name, not a token
    """Name under which an optional GitHub token is kept."""
    pypi_url: str = "https://pypi.org"
    """The Python package index."""
    npm_url: str = "https://registry.npmjs.org"
    """The registry that the age of npm's packages is looked up in; which one npm fetches from is npm's own setting."""
    osv_url: str = "https://api.osv.dev"
    """Database of known vulnerabilities in packages, in OSV's format (a mirror will do)."""
    allowed_private: tuple[str, ...] = ()
    """Private hosts that may be read, as `host`, `host:port` or network (`10.0.0.0/8`)."""
    robots: bool = True
    """Whether a site's robots.txt is asked before a page is read, and kept to."""
    timeout: Annotated[float, Meta(gt=0, le=86_400)] = 20.0
    """Seconds for one request, redirects included."""
    browser_hosts: tuple[str, ...] = ()
    """Hosts whose pages a browser in the sandbox reads where they need scripts, as `host` or `host:port`; it loads
    from these alone, and `sandbox.browser` has to be on."""
    max_bytes: Annotated[int, Meta(ge=1024, le=100_000_000)] = 2_000_000
    """Bytes to read of one page at most."""
    max_pdf_bytes: Annotated[int, Meta(ge=1024, le=100_000_000)] = 20_000_000
    """Bytes of a PDF at most; a larger one is not read."""

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names under which the providers' keys are kept."""
        return self.brave_key_name, self.tavily_key_name, self.google_key_name, self.github_token_name


class Page(Value, frozen=True):
    """A page as text, and as it came. Untrusted."""

    url: str
    title: str
    text: str
    """Empty for what is no text."""
    body: bytes = b""
    """The bytes that its server sent; empty for a stored page."""
    truncated: bool = False
    unchanged: bool = False
    """True for a stored page that its server reports as unchanged."""
    scripts: Scripts = ""
    refused: tuple[str, ...] = ()
    """Hosts that the page asked a browser for and that it may not load from."""


class SearchPage(Value, frozen=True):
    """Results of the provider that answered. Untrusted."""

    provider: str
    results: tuple[WebResult, ...]
    failed: tuple[SearchFailure, ...] = ()
    """Those that were asked before it, and why they did not answer."""


class Web(Protocol):
    """Search and reading. Implemented by `web`."""

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        """Return results of one kind (`SearchKind`; empty: the settings'), from the next provider if one fails.

        Raise WebError when none answers.
        """

    async def read(self, url: str) -> Page:
        """Return one page as text. Raise WebError, AddressRefused."""

    async def close(self) -> None:
        """Close connections."""


class PackageFacts(Value, frozen=True):
    """Facts of a registry about one version of a package."""

    first_upload: str = ""
    """When the project's first file came (ISO 8601); empty when unknown."""
    yanked: bool = False


class PackageIndex(Protocol):
    """The package index as a source of facts. Implemented by `web`."""

    async def package(self, name: str, version: str) -> PackageFacts | None:
        """Return facts of one version; None if the index does not answer or does not know it."""


class Faults(Value, frozen=True):
    """Known faults of some packages."""

    known: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Ids such as `PYSEC-2023-1 = CVE-2023-2` by `LockedPackage.label`; an empty tuple where none is known."""
    problem: str = ""
    """Why the look-up failed; then nothing is known of any package."""


class FaultBook(Protocol):
    """A database of known faults. Implemented by `sandbox`, whose packages it is about."""

    async def faults(self, packages: Sequence[LockedPackage]) -> Faults:
        """Return the known faults of these versions, within bounded time."""
