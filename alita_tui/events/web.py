"""The web: searches and pages."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, Value

_BRIEF = 800
"""Characters of a source's text that are stored with a tool."""


class Source(Value, frozen=True):
    """A page or package that was read for a build. Untrusted."""

    url: str
    title: str = ""
    excerpt: str = ""
    """Its text: whole during the build, only the beginning once it is stored with a tool."""

    @property
    def brief(self) -> Source:
        """The source with only the beginning of its text."""
        return Source(url=self.url, title=self.title, excerpt=self.excerpt[:_BRIEF])


class WebResult(Value, frozen=True):
    """One result of a web search. Untrusted text."""

    title: str
    url: str
    snippet: str = ""


class SearchFailure(Value, frozen=True):
    """A provider that did not answer a search, and why."""

    provider: str
    reason: str


class WebSearched(Fact, frozen=True):
    """The web was searched. Results are untrusted."""

    action_id: str
    query: str
    provider: str
    results: tuple[WebResult, ...] = ()
    failed: tuple[SearchFailure, ...] = ()
    """Those that were asked first."""


Scripts = Literal["", "needed", "run"]
"""`needed`: a page shows next to nothing without its scripts; `run`: a browser in the sandbox ran them."""


class PageRead(Fact, frozen=True):
    """A page was read. Its text is untrusted."""

    action_id: str
    url: str
    title: str = ""
    text: str = ""
    """The part that was asked for, which the model is shown."""
    whole: str = ""
    """The whole text as it was read, if longer than `text`."""
    total: int = 0
    """Characters of the whole text; 0 in older records, where `text` is all."""
    start: int = 0
    """Where in the whole text the part begins."""
    find: str = ""
    """What was looked for in it; then the part holds the passages around it."""
    matches: int = 0
    copied: bool = False
    """Taken from the text that an earlier event holds; nothing was fetched."""
    asked: str = ""
    """The address that was asked for, where it led elsewhere."""
    truncated: bool = False
    """The whole text is not all that the page has."""
    unchanged: bool = False
    """Kept from an earlier read; the server said that it still holds."""
    handle: str = ""
    """The artefact with what was fetched; empty in older records, and where it could not be kept."""
    scripts: Scripts = ""
    browser_off: bool = False
    """True where it needs scripts and the person allows no browser."""
    refused: tuple[str, ...] = ()
    """Hosts that the page asked a browser for and that it may not load from."""
