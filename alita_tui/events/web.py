"""The web: searches and pages."""

from __future__ import annotations

from alita_tui.events.base import Fact, Value


class Source(Value, frozen=True):
    """A page or package that was read for a build. Untrusted."""

    url: str
    title: str = ""
    excerpt: str = ""


class WebResult(Value, frozen=True):
    """One result of a web search. Untrusted text."""

    title: str
    url: str
    snippet: str = ""


class WebSearched(Fact, frozen=True):
    """The web was searched. Results are untrusted."""

    action_id: str
    query: str
    provider: str
    results: tuple[WebResult, ...] = ()


class PageRead(Fact, frozen=True):
    """A page was read. Its text is untrusted."""

    action_id: str
    url: str
    title: str = ""
    text: str = ""
    truncated: bool = False
    unchanged: bool = False
    """Kept from an earlier read; the server said that it still holds."""
