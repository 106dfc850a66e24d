"""Servers outside a session: started once to see what they list, or to try one of their tools. Nothing is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alita_tui.app.identity import new_id
from alita_tui.app.servers.book import KnownServer, LazyServers, ServerBook, Show, as_listed, seen
from alita_tui.events import Json, RunReport, ToolDraft
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.redaction import Redactor

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.mcp_box.remote.servers import Servers
    from alita_tui.sandbox.fleet import Fleet


@asynccontextmanager
async def servers_alone(
    app: AppContext, redactor: Redactor, show: Show | None = None
) -> AsyncIterator[tuple[Fleet, Servers]]:
    """Yield servers outside a session, without recording anything; with `show` the person can log in."""
    from alita_tui.mcp_box.remote.servers import ServerEvent

    async def untold(_: ServerEvent) -> None:
        return

    async def unrecorded(_: object) -> None:
        return

    sandbox = app.sandbox(f"mcp-{new_id()}", broker=app.broker(unrecorded, None))
    sandbox.servers = lazy = LazyServers(app, sandbox, untold, redactor, show)
    try:
        yield sandbox, await lazy.made()
    finally:
        await sandbox.close()
        await lazy.logged_in.aclose()


async def look_at(app: AppContext, server: KnownServer, show: Show | None = None) -> KnownServer:
    """Start a server, list its tools and stop it; return it with the tools that it lists. Raise AlitaError."""
    ServerBook(app).check_typed(server)
    redactor = await asyncio.to_thread(app.redactor)
    async with servers_alone(app, redactor, show if server.spec.url else None) as (_, servers):
        listing, protocol, took = await servers.look(server.spec, server.lock)
        return seen(server, listing, protocol, took)


async def trial(app: AppContext, server: KnownServer, draft: ToolDraft, arguments: Json) -> RunReport:
    """Call a tool once, approved or not, without recording it. Raise AlitaError."""
    ServerBook(app).check_typed(server)
    if not as_listed(draft, server.spec):
        raise UsageError(f"{draft.name} is not what {server.spec.name} listed.")
    job = Job(
        run_id=new_id(), module=draft.name, code=draft.code, arguments=arguments, lock=server.lock, limits=app.limits,
        remote=True,
    )  # fmt: skip
    redactor = await asyncio.to_thread(app.redactor)
    async with servers_alone(app, redactor) as (sandbox, _):
        return redactor.value(await sandbox.run(job, lambda *_: None, lambda *_: None))
