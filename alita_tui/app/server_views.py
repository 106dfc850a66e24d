"""The MCP servers as the console shows and changes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from alita_tui.app.context import AppContext
from alita_tui.app.server_looks import look_at
from alita_tui.app.servers import Known, Offered, ServerBook
from alita_tui.console.servers.ports import ServerChange, ServerLine, ServerTool
from alita_tui.events import ToolDraft, build_digest
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted
from alita_tui.view.risk import Risk

_Risks = Callable[[ToolDraft], tuple[Risk, ...]]


def lines(app: AppContext) -> tuple[ServerLine, ...]:
    """Return every server by name. Block on the disk. Raise StoreError."""
    book = ServerBook(app)
    risks_of = book.reviewer()
    return tuple(_line(book, known, risks_of) for known in book.all())


def _line(book: ServerBook, known: Known, risks_of: _Risks) -> ServerLine:
    spec = known.spec
    try:
        book.check_typed(known)
        unsigned = False
    except UsageError:
        unsigned = True
    return ServerLine(
        name=spec.name,
        where=spec.where,
        transport="http" if spec.url else "stdio",
        enabled=known.enabled,
        unsigned=unsigned,
        protocol=known.protocol,
        claims=" ".join(known.calls_itself.values()),
        command=" ".join(spec.argv),
        may_use=(*spec.network, *spec.secrets) or (("all that you may",) if spec.place == "host" else ()),
        listed_at=known.listed_at,
        start_ms=known.start_ms,
        tools=tuple(_tool(known, one, risks_of) for one in book.offered(known)),
        refused=known.refused,
    )


def _tool(known: Known, one: Offered, risks_of: _Risks) -> ServerTool:
    suspended = one.before is not None and one.before.state == "quarantined"
    risks = () if one.state == "approved" else risks_of(one.draft)
    return ServerTool(
        name=str(one.draft.name),
        state="suspended" if suspended and one.state != "approved" else one.state,
        digest=build_digest(one.draft, known.lock),
        description=one.draft.description,
        problem=one.problem,
        risks=tuple(dict.fromkeys(risk.name for risk in risks)),
    )


async def changed(app: AppContext, change: ServerChange, name: str) -> str:
    """Test, switch or remove a server; return what came of it. Raise AlitaError."""
    book = ServerBook(app)
    known = await asyncio.to_thread(book.get, name)
    match change:
        case "test":
            seen = await look_at(app, known)
            await asyncio.to_thread(book.keep, seen)
            return f"{name} answered after {seen.start_ms:,.0f} ms and lists {counted(len(seen.drafts), 'tool')}."
        case "enable" | "disable":
            on = change == "enable"
            await asyncio.to_thread(book.keep, msgspec.structs.replace(known, enabled=on))
            return f"{name} is {'on' if on else 'off: none of its tools is called'}."
        case "remove":
            archived = await asyncio.to_thread(book.remove, name)
            return f"{name} is removed; {counted(len(archived), 'tool')} archived."
