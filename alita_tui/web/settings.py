"""What the room needs to know: where the providers are, what keys are called, what one request may cost."""

from __future__ import annotations

from alita_tui.events import Value
from alita_tui.spine.ports.web import WebProvider


class WebSettings(Value, frozen=True):
    """Where the providers are and what one request may cost; `config.settings.WebSettings` says what each is."""

    provider: str = "web"
    search_order: tuple[WebProvider, ...] = ()
    searxng_url: str = ""
    brave_url: str = "https://api.search.brave.com/res/v1/web/search"
    brave_key_name: str = "BRAVE_API_KEY"
    tavily_url: str = "https://api.tavily.com/search"
    tavily_key_name: str = "TAVILY_API_KEY"
    google_url: str = "https://www.googleapis.com/customsearch/v1"
    google_key_name: str = "GOOGLE_API_KEY"
    google_cx: str = ""
    duckduckgo_url: str = "https://html.duckduckgo.com/html/"
    github_url: str = "https://api.github.com"
    github_token_name: str = "GITHUB_TOKEN"  # noqa: S105 - a name, not a token
    pypi_url: str = "https://pypi.org"
    allowed_private: tuple[str, ...] = ()
    robots: bool = True
    timeout: float = 20.0
    max_bytes: int = 2_000_000
    max_pdf_bytes: int = 20_000_000
    max_chars: int = 200_000
    """Of the readable text of one page."""
    results: int = 8
    """At most, of one search."""
    user_agent: str = "Mozilla/5.0 (compatible; alita-tui)"
