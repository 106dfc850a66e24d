"""Reads pages that need scripts with a browser in the sandbox, if the person allowed that for their host."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from alita_tui.app.identity import new_id
from alita_tui.events import BrokerAnswered, Capabilities, PageLogged, Value, ready
from alita_tui.spine.errors import AlitaError, WebError
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.ports.web import Page, SearchPage, Web
from alita_tui.spine.text import neutralise, one_line

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.sandbox.fleet import Fleet

_SETTLES = 2
"""Seconds that scripts have after the page is loaded."""
_MOST_CHARS = 200_000
_MOST_HOSTS = 20


class _BrowserResult(Value, frozen=True):
    """The part of the starter's result that is used. Untrusted."""

    url: str
    title: str
    extracted: tuple[str, ...]


class PageBrowser:
    """Implements `Web` on top of another one: a page that needs scripts is read again with a browser."""

    def __init__(self, app: AppContext, web: Web, sandbox: Fleet, progress: Progress) -> None:
        self._app = app
        self._web = web
        self._sandbox = sandbox
        self._progress = progress
        self._allowed = app.loaded.settings.web.allowed_private
        self._hosts = granted(app.loaded.settings.web.browser_hosts)

    async def search(self, query: str, *, provider: str = "") -> SearchPage:
        """As in `Web`."""
        return await self._web.search(query, provider=provider)

    async def read(self, url: str) -> Page:
        """Read one page as text, by a browser if its host is listed and it needs scripts. Raise WebError."""
        page = await self._web.read(url)
        if page.scripts != "needed" or _host_and_port(page.url) not in self._hosts:
            return page
        host = one_line(urlsplit(page.url).netloc, 80)
        try:
            if not await self._sandbox.has_browser():
                raise WebError(
                    f"The page of {host} needs scripts, and the browser's image is not here.",
                    hint="`alita doctor --fix --with browser` makes it.",
                )
            return await self._read_in_browser(page, host)
        except WebError:
            raise
        except AlitaError as error:
            raise WebError(
                f"The page of {host} needs scripts, and no browser could run them: {error.message}",
                hint=error.hint,
            ) from error

    async def close(self) -> None:
        """Close connections."""
        await self._web.close()

    async def _read_in_browser(self, page: Page, host: str) -> Page:
        requests: list[BrokerAnswered] = []

        async def tell(event: BrokerAnswered | PageLogged) -> None:
            if isinstance(event, BrokerAnswered):
                requests.append(event)

        from alita_tui.sandbox.broker.broker import Broker
        from alita_tui.spine.address import AddressPolicy
        from alita_tui.web.dns import system_resolver

        broker = Broker(AddressPolicy(system_resolver, self._allowed), tell, environ=self._app.environ)
        draft = self._app.starters.draft("browse", self._hosts)
        sandbox = self._sandbox.guest(broker)
        try:
            lock = await sandbox.lock(draft.requirements, self._progress, browser=True)
            job = Job(
                run_id=new_id(),
                module=draft.name,
                code=draft.code,
                lock=lock,
                digest=draft.digest,
                limits=self._app.limits,
                capabilities=Capabilities(network=self._hosts, browser=True),
                arguments={
                    "url": page.url,
                    "steps": [{"do": "wait", "seconds": _SETTLES}, {"do": "extract"}],
                },
            )
            report = await sandbox.run(job, lambda *_: None, self._progress)
        finally:
            await sandbox.close()
        if report.status != "ok":
            why = one_line(report.error, 300) or report.status
            raise WebError(f"The page of {host} needs scripts, and its browser ended: {why}")
        return _page(report.result, requests)


def pages(app: AppContext, web: Web, sandbox: Fleet, progress: Progress) -> Web:
    """Return the web access: with a browser if the person listed hosts for it."""
    listed = app.loaded.settings.web.browser_hosts
    return PageBrowser(app, web, sandbox, progress) if listed else web


def _page(result: object, requests: list[BrokerAnswered]) -> Page:
    """Return the page that the browser read. Raise WebError for a malformed result: a page may have forged it."""
    try:
        page = msgspec.convert(result, ready(_BrowserResult))
    except msgspec.ValidationError as error:
        raise WebError(f"What the browser read is no page: {error}") from error
    safe = neutralise("\n\n".join(page.extracted)).strip()
    refused = dict.fromkeys(
        host for request in requests if request.outcome == "refused" for host in _hosts_of(request)
    )
    return Page(
        url=one_line(page.url, 2000),
        title=one_line(page.title, 160),
        text=safe[:_MOST_CHARS],
        truncated=len(safe) >= _MOST_CHARS,
        scripts="run",
        refused=tuple(host for host in refused if host)[:_MOST_HOSTS],
    )


def granted(listed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the hosts of the setting as grants; one without a port gets the ports of https and http."""
    grants = (
        (entry,) if entry.rpartition(":")[2].isdigit() and ":" in entry else (f"{entry}:443", f"{entry}:80")
        for entry in map(str.lower, map(str.strip, listed))
        if entry
    )
    return tuple(dict.fromkeys(where for group in grants for where in group))


def _host_and_port(url: str) -> str:
    """Return `host:port` of an address."""
    parts = urlsplit(url)
    return f"{(parts.hostname or '').rstrip('.')}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _hosts_of(answered: BrokerAnswered) -> tuple[str, ...]:
    """Return the hosts of a recorded request, or of several that are only counted."""
    from alita_tui.sandbox.broker.request_counts import target_of

    targets = [count.target for count in answered.more] or [target_of(answered.request)]
    return tuple(one_line(target.rpartition(":")[0] or target, 120) for target in targets)
