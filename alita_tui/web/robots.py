"""A site's robots.txt (RFC 9309), asked once per site and session before one of its pages is read.

Nothing here crawls: a page is read because somebody wants that page. So an unavailable file forbids nothing.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote, unquote, urlsplit

from alita_tui.events import Value
from alita_tui.spine.errors import WebError
from alita_tui.spine.text import one_line
from alita_tui.web.fetch import Fetcher

_NAME = "alita-tui"
_BYTES = 512_000
"""The size that the RFC requires to be read."""
_SECONDS = 5.0
"""How long a page waits for it, in seconds."""
_RULES = 2_000
_SITES = 200


class Rule(Value, frozen=True):
    """A pattern of paths, and whether they may be read."""

    pattern: str
    allows: bool

    def matches(self, path: str) -> bool:
        """Return whether a path matches: `*` stands for any text, a final `$` for the path's end."""
        anchored = self.pattern.endswith("$")
        prefix, *literals = self.pattern.removesuffix("$").split("*")
        if not path.startswith(prefix):
            return False
        if not literals:
            return not anchored or path == prefix
        position = len(prefix)
        for literal in literals[:-1] if anchored else literals:
            position = path.find(literal, position)
            if position < 0:
                return False
            position += len(literal)
        return not anchored or (path.endswith(literals[-1]) and len(path) - len(literals[-1]) >= position)


class Robots:
    """The rules of sites; cached for the lifetime of the object."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._sites: dict[str, tuple[Rule, ...]] = {}

    async def check(self, url: str) -> None:
        """Raise WebError for an address that its site's robots.txt disallows."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._sites:
            if len(self._sites) >= _SITES:
                self._sites.clear()
            self._sites[site] = await self._ask(site)
        path = _normal(parts.path or "/") + (f"?{_normal(parts.query)}" if parts.query else "")
        if not allowed(self._sites[site], path):
            raise WebError(
                f"{one_line(parts.netloc, 80)} does not want {one_line(parts.path or '/', 120)} read by programs "
                "(its robots.txt).",
                hint="Use another source, or set web.robots to false if the site is yours.",
            )

    async def _ask(self, site: str) -> tuple[Rule, ...]:
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._fetcher.get(f"{site}/robots.txt", max_bytes=_BYTES)
        except (WebError, TimeoutError):
            return ()
        return rules(answer.body.decode("utf-8", "replace")) if answer.status == 200 else ()


def rules(text: str) -> tuple[Rule, ...]:
    """Return the rules for alita, or those for all programs if it has none."""
    for_alita: list[Rule] = []
    for_all: list[Rule] = []
    names_alita = False
    agents: set[str] = set()
    listing = False
    for line in text.removeprefix("\ufeff").splitlines():
        field, colon, value = line.partition("#")[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if not colon:
            continue
        if field == "user-agent":
            agents = agents if listing else set()
            agents.add(value.lower())
            listing, names_alita = True, names_alita or value.lower() == _NAME
        elif field in ("allow", "disallow"):
            listing = False
            if value and len(for_alita) + len(for_all) < _RULES:
                rule = Rule(pattern=_normal(value), allows=field == "allow")
                if _NAME in agents:
                    for_alita.append(rule)
                if "*" in agents:
                    for_all.append(rule)
    return tuple(for_alita if names_alita else for_all)


def allowed(listed: tuple[Rule, ...], path: str) -> bool:
    """Return the verdict of the longest matching rule; of two equally long ones, allowing wins."""
    fitting = [(len(rule.pattern), rule.allows) for rule in listed if rule.matches(path)]
    return path == "/robots.txt" or not fitting or max(fitting)[1]


def _normal(path: str) -> str:
    """Return a path or pattern in one spelling of its escapes."""
    return quote(unquote(path[:2000]), safe="/*$?&=:@!,;+'()~-._[]%")
