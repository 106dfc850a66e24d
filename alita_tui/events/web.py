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
    """Its text; only the beginning once it is stored with a tool."""

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
    """The providers that were asked first and did not answer."""


Scripts = Literal["", "needed", "run"]
"""`needed`: the page is almost empty without its scripts. `run`: a browser in the sandbox ran them."""


class PageRead(Fact, frozen=True):
    """A page was read. Its text is untrusted."""

    action_id: str
    url: str
    title: str = ""
    text: str = ""
    """The requested part, which the model is shown."""
    whole: str = ""
    """The whole text, if it is longer than `text`."""
    total: int = 0
    """Characters of the whole text; 0 in older records, where `text` is the whole text."""
    start: int = 0
    """Offset of the part in the whole text."""
    find: str = ""
    """The words that were searched for; `text` then has the passages around them."""
    matches: int = 0
    copied: bool = False
    """True if the text is from an earlier event and nothing was fetched."""
    asked: str = ""
    """The requested address, if it was redirected."""
    truncated: bool = False
    """True if the page has more than the whole text here."""
    unchanged: bool = False
    """True if the text is from an earlier read and the server said that it has not changed."""
    handle: str = ""
    """The artefact with the fetched bytes; empty in older records, and if it could not be stored."""
    scripts: Scripts = ""
    browser_off: bool = False
    """True if it needs scripts and the person allows no browser."""
    refused: tuple[str, ...] = ()
    """Hosts that the page's browser requested and may not load from."""
