"""Search providers: how each is asked, and its answer as results. Hosts of the settings may be private."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from alita_tui.events import WebResult
from alita_tui.spine.errors import WebError
from alita_tui.spine.text import neutralise, one_line
from alita_tui.web.fetch import Fetched, Fetcher

_ANSWER_BYTES = 4_000_000
_STOP_WORDS = frozenset(
    "a an and any are as at be by can do find for from get good how i in into is it its library lib me module"
    " need of on or package packages pip please py pypi python some that the this to tool use using want"
    " way what which with".split()
)
_MAX_NAMES = 10


async def duckduckgo(fetcher: Fetcher, base: str, query: str, limit: int) -> tuple[WebResult, ...]:
    """Search with DuckDuckGo's HTML endpoint: no key, one page of results. Raise WebError."""
    answer = await fetcher.get(_with_query(base, {"q": query}), trusted=base)
    check_status(answer, ok=(200, 202))
    results, challenged = await asyncio.to_thread(_duckduckgo_results, answer)
    if challenged:
        raise WebError(
            "DuckDuckGo asks for a person to prove themselves, so it gave no results.",
            hint="Wait a few minutes, or set a Google Programmable Search key and web.google_cx.",
        )
    return results[:limit]


def _duckduckgo_results(answer: Fetched) -> tuple[tuple[WebResult, ...], bool]:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(answer.body, "html.parser")
    results = []
    for block in soup.select(".result"):
        link = block.select_one("a.result__a[href]")
        if link is None or "result--ad" in (block.get("class") or ()):
            continue
        url = urljoin(answer.url, str(link["href"]))
        parts = urlsplit(url)
        if parts.path == "/l/":
            url = parse_qs(parts.query).get("uddg", [""])[0]
        snippet = block.select_one(".result__snippet")
        results.append(_result(link.get_text(), url, snippet.get_text() if snippet else ""))
    challenged = not results and (
        answer.status == 202 or bool(soup.select_one("#challenge-form, .anomaly-modal"))
    )
    return _clean(results), challenged


async def google(
    fetcher: Fetcher, base: str, key: str, cx: str, query: str, limit: int
) -> tuple[WebResult, ...]:
    """Search with Google Programmable Search, JSON API v1. Raise WebError."""
    url = _with_query(base, {"key": key, "cx": cx, "q": query, "num": str(min(limit, 10))})
    answer = await fetcher.get(url, trusted=base, max_bytes=_ANSWER_BYTES)
    check_status(answer, hint="Check the key, web.google_cx and the day's quota.")
    items = _list(_json(answer), "items")
    return _clean(_result(_text(i, "title"), _text(i, "link"), _text(i, "snippet")) for i in items)[:limit]


async def github(fetcher: Fetcher, base: str, token: str, query: str, limit: int) -> tuple[WebResult, ...]:
    """Search GitHub's repositories (REST, version 2022-11-28). Raise WebError."""
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    url = _with_query(f"{base.rstrip('/')}/search/repositories", {"q": query, "per_page": str(limit)})
    answer = await fetcher.get(url, headers=headers, trusted=base, max_bytes=_ANSWER_BYTES)
    check_status(answer, hint="" if token else "A GITHUB_TOKEN raises the limit of searches.")
    results = []
    for item in _list(_json(answer), "items"):
        stars, language = item.get("stargazers_count"), _text(item, "language")
        facts = [
            _text(item, "description"),
            f"{stars} stars" if isinstance(stars, int) else "",
            language,
            f"last push {_text(item, 'pushed_at')[:10]}" if _text(item, "pushed_at") else "",
            "archived" if item.get("archived") is True else "",
        ]
        results.append(
            _result(_text(item, "full_name"), _text(item, "html_url"), " · ".join(filter(None, facts)))
        )
    return _clean(results)[:limit]


async def pypi(fetcher: Fetcher, base: str, query: str) -> tuple[WebResult, ...]:
    """Return packages whose names the words of the query spell; PyPI itself has no search. Raise WebError."""
    names = candidate_names(query)
    answers = await asyncio.gather(*(_package(fetcher, base, name) for name in names), return_exceptions=True)
    results = [answer for answer in answers if isinstance(answer, WebResult)]
    if not results:
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
    return _clean(results)


def candidate_names(query: str) -> tuple[str, ...]:
    """Return names worth trying, the likeliest first, in PyPI's normal form (PEP 503)."""
    words = [re.sub(r"[-_.]+", "-", w).strip("-") for w in re.findall(r"[a-z0-9][a-z0-9._-]*", query.lower())]
    telling = [word for word in words if word not in _STOP_WORDS]
    joined = "-".join(telling)
    names = ["-".join(words), joined]
    if joined:
        names += [joined.replace("-", ""), f"python-{joined}", f"py{joined}"]
    names += [f"{a}-{b}" for a, b in zip(telling, telling[1:], strict=False)]
    names += [word for word in telling if len(word) > 2]
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= 60))[:_MAX_NAMES]


async def _package(fetcher: Fetcher, base: str, name: str) -> WebResult | None:
    url = f"{base.rstrip('/')}/pypi/{name}/json"
    answer = await fetcher.get(url, trusted=base, max_bytes=_ANSWER_BYTES)
    if answer.status == 404:
        return None
    check_status(answer)
    info = _json(answer, "info").get("info")
    if not isinstance(info, dict):
        return None
    title = f"{_text(info, 'name') or name} {_text(info, 'version')}"
    return _result(
        title, _text(info, "package_url") or f"https://pypi.org/project/{name}/", _text(info, "summary")
    )


def check_status(answer: Fetched, *, ok: tuple[int, ...] = (200,), hint: str = "") -> None:
    """Raise WebError for any other status, with the wait that a rate limit asks for."""
    if answer.status in ok:
        return
    host = one_line(urlsplit(answer.url).netloc, 80)
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status == 429 or (answer.status == 403 and (spent or "retry-after" in answer.headers)):
        wait = answer.headers.get("retry-after", "")
        when = f"Wait {wait} s." if wait.isdigit() else "Wait a while."
        raise WebError(
            f"{host} has had too many requests (HTTP {answer.status}).", hint=f"{when} {hint}".strip()
        )
    path = one_line(urlsplit(answer.url).path, 120)
    raise WebError(f"{host} answered HTTP {answer.status} for {path or '/'}.", hint=hint)


def _with_query(base: str, query: dict[str, str]) -> str:
    return f"{base}{'&' if '?' in base else '?'}{urlencode(query)}"


def _json(answer: Fetched, first: str = "") -> dict[str, Any]:
    """Return the answer as an object; of a truncated one the member `first` is enough. Raise WebError."""
    text = answer.body.decode("utf-8", "replace")
    try:
        if answer.truncated and first and (start := re.match(rf'\s*{{\s*"{first}"\s*:\s*', text)):
            return {first: json.JSONDecoder().raw_decode(text, start.end())[0]}
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_understood(answer) from error
    if not isinstance(parsed, dict):
        raise _not_understood(answer)
    return parsed


def _not_understood(answer: Fetched) -> WebError:
    host = one_line(urlsplit(answer.url).netloc, 80)
    return WebError(f"{host} sent an answer that is not the JSON it documents.", hint="Check its base URL.")


def _list(parsed: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = parsed.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _result(title: str, url: str, snippet: str) -> WebResult:
    return WebResult(title=one_line(title, 160), url=url, snippet=one_line(snippet, 400))


def _clean(results: Iterable[WebResult]) -> tuple[WebResult, ...]:
    """Return the results with a title and an ordinary web address, each address once."""
    kept: dict[str, WebResult] = {}
    for result in results:
        plain = result.url == neutralise(result.url) and not any(c.isspace() for c in result.url)
        web = result.url.startswith(("http://", "https://")) and len(result.url) <= 2000
        if plain and web and result.title:
            kept.setdefault(result.url, result)
    return tuple(kept.values())
