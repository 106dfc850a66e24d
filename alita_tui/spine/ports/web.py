"""The web, the package index, and known faults of packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from alita_tui.events.base import Value
from alita_tui.events.tool import LockedPackage
from alita_tui.events.web import SearchFailure, WebResult

WebProvider = Literal["searxng", "brave", "tavily", "google", "duckduckgo"]
"""Who searches the whole web, in the order in which they are asked."""
SearchProvider = Literal[WebProvider, "github", "github_code", "github_readmes", "pypi"]
"""Everybody who can be asked."""
SearchKind = Literal["web", "github", "github_code", "github_readmes", "pypi"]
"""What can be searched."""


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


class SearchPage(Value, frozen=True):
    """Results of the provider that answered. Untrusted."""

    provider: str
    results: tuple[WebResult, ...]
    failed: tuple[SearchFailure, ...] = ()
    """Those that were asked before it, and why they did not answer."""


class Web(Protocol):
    """Search and reading. Met by `web`."""

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        """Search one kind of thing (`SearchKind`; empty: the settings'), with the next provider where one fails.

        Raise WebError when none answers.
        """

    async def read(self, url: str) -> Page:
        """Read one page as text. Raise WebError, AddressRefused."""

    async def close(self) -> None:
        """Close connections."""


class PackageFacts(Value, frozen=True):
    """Facts of the index about one version of a package."""

    first_upload: str = ""
    """When the project's first file came (ISO 8601); empty when unknown."""
    yanked: bool = False


class PackageIndex(Protocol):
    """The package index as a source of facts. Met by `web`."""

    async def package(self, name: str, version: str) -> PackageFacts | None:
        """Return facts of one version; None where the index does not answer or does not know it."""


class Faults(Value, frozen=True):
    """Known faults of some packages."""

    known: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Ids such as `PYSEC-2023-1 = CVE-2023-2` by the package's name; an empty tuple where none is known."""
    problem: str = ""
    """Why the look-up failed; then nothing is known of any package."""


class FaultBook(Protocol):
    """A database of known faults. Met by `sandbox`, whose packages it is about."""

    async def faults(self, packages: Sequence[LockedPackage]) -> Faults:
        """Return the known faults of these versions, within bounded time."""
