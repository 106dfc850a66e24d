"""A table of search providers: how to write the request to each and read its answer. Answers are untrusted."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

import msgspec

from alita_tui.events import WebResult
from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.web import SearchProvider
from alita_tui.spine.text import neutralise, one_line
from alita_tui.web.answers import RateLimited, objects, parsed_json, text_of
from alita_tui.web.fetch import Fetched
from alita_tui.web.parsing import parsed

_NEVER = frozenset('"<>\\^`{|}')
"""Characters that no URL has unescaped (RFC 3986), some of which could end a quoted URL."""
_CHALLENGE_WAIT = 120.0
"""Seconds without a request to a provider that demanded a captcha."""


@dataclass(frozen=True)
class SearchQuery:
    """One search, independent of the provider."""

    words: str
    limit: int
    base: str
    """The provider's base URL, from the settings."""
    key: str = field(default="", repr=False)
    site: str = ""
    """The only host to search; empty for all."""
    engine: str = ""
    """Google's identifier of the search engine."""

    @property
    def text(self) -> str:
        """The words, with the site in the syntax of most providers."""
        return f"site:{self.site} {self.words}" if self.site else self.words

    def at(self, path: str = "", **query: str) -> str:
        """Return an address below the base."""
        base = f"{self.base.rstrip('/')}/{path}" if path else self.base
        return f"{base}{'&' if '?' in base else '?'}{urlencode(query)}"


@dataclass(frozen=True)
class Request:
    """A request to a provider. Keys go into `headers` or `body`, never into the URL."""

    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = None


@dataclass(frozen=True)
class Provider:
    """One provider; names of settings are those of `WebSettings`."""

    url: str
    """The setting with its base URL."""
    request: Callable[[SearchQuery], Request]
    results: Callable[[Fetched], Awaitable[Iterable[WebResult]]]
    """Reads its answer. Raises WebError if it is not in the documented form."""
    key: str = ""
    """The setting with the name of its key."""
    needs: tuple[str, ...] = ()
    """The settings that it needs."""
    hint: str = ""
    """What the person can do if it refuses."""
    whole_web: bool = False
    """Whether it searches the web, so that it can stand in for the others."""


def searxng(query: SearchQuery) -> Request:
    """SearXNG's search API (docs.searxng.org/dev/search_api)."""
    return Request(query.at("search", q=query.text, format="json"))


async def searxng_results(answer: Fetched) -> Iterable[WebResult]:
    """Read SearXNG's answer. Raise WebError if it is empty because its engines failed."""
    document = parsed_json(answer)
    items = objects(document, "results")
    if not items and document.get("unresponsive_engines"):
        raise WebError(
            "None of the engines behind SearXNG answered.", hint="Look at the instance's own page."
        )
    return [_result(text_of(i, "title"), text_of(i, "url"), text_of(i, "content")) for i in items]


def brave(query: SearchQuery) -> Request:
    """Brave's web search API, version 1."""
    headers = {"Accept": "application/json", "X-Subscription-Token": query.key}
    return Request(query.at(q=query.text, count=str(min(query.limit, 20))), headers)


async def brave_results(answer: Fetched) -> Iterable[WebResult]:
    """Read Brave's answer and remove its HTML tags."""
    items = objects(parsed_json(answer), "web", "results")
    return [
        _result(_plain(text_of(i, "title")), text_of(i, "url"), _plain(text_of(i, "description")))
        for i in items
    ]


def tavily(query: SearchQuery) -> Request:
    """Tavily's search, by POST."""
    body: dict[str, Any] = {"query": query.words, "max_results": min(query.limit, 20)}
    if query.site:
        body["include_domains"] = [query.site]
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {query.key}"}
    return Request(query.base, headers, msgspec.json.encode(body))


async def tavily_results(answer: Fetched) -> Iterable[WebResult]:
    """Read Tavily's answer."""
    items = objects(parsed_json(answer), "results")
    return [_result(text_of(i, "title"), text_of(i, "url"), text_of(i, "content")) for i in items]


def google(query: SearchQuery) -> Request:
    """Google Programmable Search, JSON API version 1; the key goes into a header, so that no log of URLs has it."""
    url = query.at(cx=query.engine, q=query.text, num=str(min(query.limit, 10)))
    return Request(url, {"X-Goog-Api-Key": query.key})


async def google_results(answer: Fetched) -> Iterable[WebResult]:
    """Read Google's answer."""
    items = objects(parsed_json(answer), "items")
    return [_result(text_of(i, "title"), text_of(i, "link"), text_of(i, "snippet")) for i in items]


def duckduckgo(query: SearchQuery) -> Request:
    """DuckDuckGo's page for browsers without scripts: no key."""
    return Request(query.at(q=query.text))


async def duckduckgo_results(answer: Fetched) -> Iterable[WebResult]:
    """Read DuckDuckGo's result page. Raise RateLimited for a captcha, WebError for any other page."""
    lines, finished = await parsed("results", answer.body)
    verdict = lines.pop() if finished and lines else {}
    if lines:
        return [_result(line["title"], _unwrapped(answer, line["href"]), line["snippet"]) for line in lines]
    if answer.status == 202 or verdict.get("challenge"):
        raise RateLimited(
            "DuckDuckGo asks for a person to prove themselves, so it gave no results.",
            wait=_CHALLENGE_WAIT,
            hint="Wait a few minutes, or set a provider with a key, such as web.brave_key_name.",
        )
    if not verdict.get("empty"):
        raise WebError("DuckDuckGo sent a page that is none of results.", hint="Check web.duckduckgo_url.")
    return []


def _unwrapped(answer: Fetched, href: str) -> str:
    try:
        url = urljoin(answer.url, href)
        split = urlsplit(url)
        return parse_qs(split.query).get("uddg", [""])[0] if split.path == "/l/" else url
    except ValueError:
        return ""


def _github(query: SearchQuery, path: str, text: str) -> Request:
    headers = {
        "Accept": "application/vnd.github.text-match+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    if query.key:
        headers["Authorization"] = f"Bearer {query.key}"
    return Request(query.at(f"search/{path}", q=text, per_page=str(query.limit)), headers)


def github(query: SearchQuery) -> Request:
    """GitHub's repositories (REST, version 2022-11-28)."""
    return _github(query, "repositories", query.words)


def github_code(query: SearchQuery) -> Request:
    """GitHub's code search, which needs a token."""
    return _github(query, "code", query.words)


def github_readmes(query: SearchQuery) -> Request:
    """READMEs on GitHub: passages with a token, otherwise repositories."""
    if query.key:
        return _github(query, "code", f"{query.words} filename:README")
    return _github(query, "repositories", f"{query.words} in:readme")


async def github_results(answer: Fetched) -> Iterable[WebResult]:
    """Read repositories or places in code."""
    return [_place(i) if "path" in i else _repository(i) for i in objects(parsed_json(answer), "items")]


def _repository(item: dict[str, Any]) -> WebResult:
    stars, pushed = item.get("stargazers_count"), text_of(item, "pushed_at")[:10]
    facts = (
        text_of(item, "description"),
        f"{stars} stars" if isinstance(stars, int) else "",
        text_of(item, "language"),
        f"last push {pushed}" if pushed else "",
        "archived" if item.get("archived") is True else "",
    )
    return _result(text_of(item, "full_name"), text_of(item, "html_url"), " · ".join(filter(None, facts)))


def _place(item: dict[str, Any]) -> WebResult:
    title = f"{text_of(item, 'repository', 'full_name')}: {text_of(item, 'path')}"
    fragments = (text_of(match, "fragment") for match in objects(item, "text_matches"))
    return _result(title, text_of(item, "html_url"), " … ".join(filter(None, fragments)))


def pypi(query: SearchQuery) -> Request:
    """The index's facts of one package, whose name is known (docs.pypi.org/api/json)."""
    return Request(f"{query.base.rstrip('/')}/pypi/{quote(query.words, safe='')}/json")


async def pypi_results(answer: Fetched) -> Iterable[WebResult]:
    """Read the facts of a package; the beginning of a long answer is enough."""
    if answer.status == 404:
        return []
    text = answer.body.decode("utf-8", "replace")
    start = re.match(r'\s*{\s*"info"\s*:\s*', text) if answer.truncated else None
    if start:
        try:
            info, _ = json.JSONDecoder().raw_decode(text, start.end())
        except (ValueError, RecursionError) as error:
            raise WebError("The package index sent an answer that is not the JSON it documents.") from error
    else:
        info = parsed_json(answer).get("info")
    if not isinstance(info, dict):
        return []
    name = text_of(info, "name")
    url = text_of(info, "package_url") or f"https://pypi.org/project/{quote(name, safe='')}/"
    return [_result(f"{name} {text_of(info, 'version')}", url, text_of(info, "summary"))]


PROVIDERS: dict[SearchProvider, Provider] = {
    "searxng": Provider(
        url="searxng_url",
        request=searxng,
        results=searxng_results,
        needs=("searxng_url",),
        hint="The instance has to allow the format json.",
        whole_web=True,
    ),
    "brave": Provider(
        url="brave_url",
        request=brave,
        results=brave_results,
        key="brave_key_name",
        needs=("brave_key_name",),
        hint="Check the key and what is left of its plan.",
        whole_web=True,
    ),
    "tavily": Provider(
        url="tavily_url",
        request=tavily,
        results=tavily_results,
        key="tavily_key_name",
        needs=("tavily_key_name",),
        hint="Check the key and what is left of its plan.",
        whole_web=True,
    ),
    "google": Provider(
        url="google_url",
        request=google,
        results=google_results,
        key="google_key_name",
        needs=("google_key_name", "google_cx"),
        hint="Check the key, web.google_cx and the day's quota.",
        whole_web=True,
    ),
    "duckduckgo": Provider(
        url="duckduckgo_url", request=duckduckgo, results=duckduckgo_results, whole_web=True
    ),
    "github": Provider(
        url="github_url",
        request=github,
        results=github_results,
        key="github_token_name",
        hint="A GITHUB_TOKEN raises the limit of searches.",
    ),
    "github_code": Provider(
        url="github_url",
        request=github_code,
        results=github_results,
        key="github_token_name",
        needs=("github_token_name",),
    ),
    "github_readmes": Provider(
        url="github_url",
        request=github_readmes,
        results=github_results,
        key="github_token_name",
        hint="A GITHUB_TOKEN raises the limit of searches.",
    ),
    "pypi": Provider(url="pypi_url", request=pypi, results=pypi_results),
}
"""Every provider; those that search the web in the order in which they are asked."""


def _plain(marked_up: str) -> str:
    return html.unescape(re.sub(r"</?[a-zA-Z][^<>]{0,80}>", "", marked_up))


def _result(title: str, url: str, snippet: str) -> WebResult:
    return WebResult(title=one_line(title, 160), url=url, snippet=one_line(snippet, 400))


def clean(results: Iterable[WebResult], site: str = "") -> tuple[WebResult, ...]:
    """Return the results with a title and an ordinary web address, each address once, limited to `site` if given."""
    unique: dict[str, WebResult] = {}
    for result in results:
        if result.title and _ordinary(result.url) and _within(result.url, site):
            unique.setdefault(result.url, result)
    return tuple(unique.values())


def _ordinary(url: str) -> bool:
    plain = url == neutralise(url) and len(url) <= 2000
    plain = plain and not any(c.isspace() or c in _NEVER for c in url)
    return plain and url.startswith(("http://", "https://"))


def _within(url: str, site: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return not site or host == site or host.endswith(f".{site}")
