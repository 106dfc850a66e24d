"""One search: the providers that can answer it, one after the other until one does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import cache
from typing import get_args

from alita_tui.events import SearchFailure, WebResult
from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.web import SearchKind, SearchPage, SearchProvider, WebSettings
from alita_tui.spine.text import one_line
from alita_tui.web.answers import RateLimited, check_status
from alita_tui.web.fetch import Fetcher
from alita_tui.web.providers import PROVIDERS, SearchQuery, clean

KINDS: tuple[SearchKind, ...] = get_args(SearchKind)
_SITES: dict[SearchKind, str] = {
    "web": "",
    "github": "github.com",
    "github_code": "github.com",
    "github_readmes": "github.com",
    "pypi": "pypi.org",
}
"""The site to search on the web if the kind's own provider does not answer."""
_ANSWER_BYTES = 2_000_000
_LAST = 60.0
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_STATUS: dict[SearchProvider, tuple[int, ...]] = {"duckduckgo": (200, 202), "pypi": (200, 404)}
"""Statuses that count as an answer, where 200 is not the only one."""

Secret = Callable[[str], str | None]
"""Returns a key by its name; may block."""


class Searches:
    """Searches with the providers in the settings; one that limits requests is not asked until the limit ends."""

    def __init__(
        self,
        fetcher: Fetcher,
        settings: WebSettings,
        secret: Secret,
        clock: Callable[[], float],
        results: int,
    ) -> None:
        """`results`: at most, of one search."""
        self._results = results
        self._fetcher = fetcher
        self._settings = settings
        self._secret = cache(secret)
        self._clock = clock
        self._alone: dict[SearchProvider, float] = {}
        """The time until which a provider is not asked."""
        self._last: dict[SearchProvider, float] = {}
        """The time until which a failed provider is asked last, so that a dead one costs its time limit only once."""

    async def search(self, words: str, kind: SearchKind) -> SearchPage:
        """Return what the first provider that answers says. Raise WebError when none does."""
        failed: list[SearchFailure] = []
        errors: list[WebError] = []
        package: tuple[WebResult, ...] = ()
        for provider in await self._in_turn(kind):
            if provider == "pypi" and not _NAME.fullmatch(words):
                continue  # it cannot search; it returns facts of a package by name
            try:
                results = await self._ask(provider, words, _SITES[kind])
            except WebError as error:
                errors.append(error)
                failed.append(SearchFailure(provider=provider, reason=error.message))
                continue
            if provider == "pypi":
                package = results
                continue
            merged = clean((*package, *results))[: self._results]
            return SearchPage(
                provider=f"pypi, {provider}" if package else provider, results=merged, failed=tuple(failed)
            )
        if package:
            return SearchPage(provider="pypi", results=package, failed=tuple(failed))
        raise _none(failed, errors)

    async def _in_turn(self, kind: SearchKind) -> tuple[SearchProvider, ...]:
        chosen: list[SearchProvider] = [] if kind == "web" else [kind]
        turn: list[SearchProvider] = [*dict.fromkeys(self._settings.search_order)]
        if not turn:
            for name, provider in PROVIDERS.items():
                if provider.whole_web and not await asyncio.to_thread(self._missing, name):
                    turn.append(name)
        now = self._clock()
        return (*chosen, *sorted(turn, key=lambda name: self._last.get(name, 0.0) > now))

    def _missing(self, name: SearchProvider) -> str:
        """Return the first setting or key that a provider needs and that is missing. Block on the keyring."""
        for setting in PROVIDERS[name].needs:
            value = getattr(self._settings, setting)
            if setting == PROVIDERS[name].key:
                if not self._secret(value):
                    return f"a key under the name {one_line(value, 60)}"
            elif not value:
                return f"web.{setting}"
        return ""

    async def _ask(self, name: SearchProvider, words: str, site: str) -> tuple[WebResult, ...]:
        """Return one provider's results. Raise WebError."""
        provider, settings = PROVIDERS[name], self._settings
        if missing := await asyncio.to_thread(self._missing, name):
            raise WebError(
                f"{name} needs {missing}.",
                hint="`alita config` shows the settings; keys go into the environment, `.env` or the keyring.",
            )
        if (wait := self._alone.get(name, 0.0) - self._clock()) > 0:
            raise WebError(f"{name} wants to be left alone for another {wait:.0f} s.", hint="Search later.")
        key = await asyncio.to_thread(self._secret, getattr(settings, provider.key)) if provider.key else ""
        base = getattr(settings, provider.url)
        query = SearchQuery(
            words=words,
            limit=self._results,
            base=base,
            key=key or "",
            site=site if provider.whole_web else "",
            engine=settings.google_cx,
        )
        request = provider.request(query)
        try:
            answer = await self._fetcher.get(
                request.url,
                headers=request.headers,
                body=request.body,
                trusted=base,
                max_bytes=_ANSWER_BYTES,
            )
            hint = "" if key and name.startswith("github") else provider.hint
            check_status(answer, ok=_STATUS.get(name, (200,)), hint=hint)
            return clean(await provider.results(answer), query.site)[: self._results]
        except RateLimited as limited:
            self._alone[name] = self._clock() + limited.wait
            raise
        except WebError:
            self._last[name] = self._clock() + _LAST
            raise


def _none(failed: list[SearchFailure], errors: list[WebError]) -> WebError:
    if not errors:
        return WebError(
            "There is nobody to ask.", hint="Name providers in web.search_order, or leave it empty."
        )
    if len(errors) == 1:
        return errors[0]
    listed = " ".join(f"{failure.provider}: {failure.reason}" for failure in failed)
    hints = " ".join(dict.fromkeys(error.hint for error in errors if error.hint))
    return WebError(f"No search provider answered. {listed}", hint=hints)
