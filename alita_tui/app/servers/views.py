"""The MCP servers as the console shows and changes them."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable
from typing import Any

import msgspec

from alita_tui.app.context import AppContext
from alita_tui.app.servers.book import KnownServer, Offered, ServerBook
from alita_tui.app.servers.outside_session import look_at, trial
from alita_tui.console.servers.ports import ServerChange, ServerLine, ServerTool, WholeTool
from alita_tui.events import ToolDraft, build_digest
from alita_tui.spine.errors import UsageError
from alita_tui.spine.levels import shallow_json
from alita_tui.spine.servers import ServerSpec, pinned
from alita_tui.spine.text import clip, counted, one_line, reveal
from alita_tui.view.risk import Risk, names_to_accept

_MOST_SHOWN = 20_000
"""Characters shown of a test call's result."""
_Risks = Callable[[ToolDraft], tuple[Risk, ...]]


def lines(app: AppContext) -> tuple[ServerLine, ...]:
    """Return every server by name. Block on the disk. Raise StoreError."""
    book = ServerBook(app)
    risks_of = book.reviewer()
    return tuple(_line(book, server, risks_of) for server in book.all())


def _line(book: ServerBook, server: KnownServer, risks_of: _Risks) -> ServerLine:
    spec = server.spec
    try:
        book.check_typed(server)
        unsigned = False
    except UsageError:
        unsigned = True
    return ServerLine(
        name=spec.name,
        where=spec.where,
        transport="http" if spec.url else "stdio",
        enabled=server.enabled,
        unsigned=unsigned,
        protocol=server.protocol,
        claims=" ".join(server.calls_itself.values()),
        command=" ".join(spec.argv),
        may_use=_may_use(spec),
        listed_at=server.listed_at,
        start_ms=server.start_ms,
        tools=tuple(_tool(server, offered, risks_of) for offered in book.offered(server)),
        refused=server.refused,
    )


def _may_use(spec: ServerSpec) -> tuple[str, ...]:
    used = (*spec.network, *spec.secrets) or (("all that you may",) if spec.place == "host" else ())
    return (*used, *(f"may {request}" for request in spec.requests_in_words))


def _tool(server: KnownServer, offered: Offered, risks_of: _Risks) -> ServerTool:
    suspended = offered.before is not None and offered.before.state == "quarantined"
    risks = () if offered.state == "approved" else risks_of(offered.draft)
    return ServerTool(
        name=str(offered.draft.name),
        state="suspended" if suspended and offered.state != "approved" else offered.state,
        digest=build_digest(offered.draft, server.lock),
        description=offered.draft.description,
        problem=offered.problem,
        risks=tuple(dict.fromkeys(risk.name for risk in risks)),
    )


async def changed(app: AppContext, change: ServerChange, name: str) -> str:
    """Test, switch or remove a server; return the outcome in words. Raise AlitaError."""
    book = ServerBook(app)
    server = await asyncio.to_thread(book.get, name)
    match change:
        case "test":
            listed = await look_at(app, server)
            await asyncio.to_thread(book.relisted, listed)
            return f"{name} answered after {listed.start_ms:,.0f} ms and lists {counted(len(listed.drafts), 'tool')}."
        case "enable" | "disable":
            on = change == "enable"
            await asyncio.to_thread(book.switch, name, on=on)
            return f"{name} is {'on' if on else 'off: none of its tools is called'}."
        case "remove":
            archived = await asyncio.to_thread(book.remove, name)
            return f"{name} is removed; {counted(len(archived), 'tool')} archived."


def whole(app: AppContext, server: str, tool: str) -> WholeTool:
    """Return a tool of a server as it is to be approved. Block on the disk. Raise UsageError, StoreError."""
    book = ServerBook(app)
    stored = book.get(server)
    book.check_typed(stored)
    offered = next((offered for offered in book.offered(stored) if offered.draft.name == tool), None)
    if offered is None:
        raise UsageError(f"{server} lists no tool {one_line(tool, 60)} any more.", hint="Look again with r.")
    if offered.problem:
        raise UsageError(f"{offered.draft.name} cannot be approved: {offered.problem}")
    return _whole_tool(book, stored, offered)


def approved(app: AppContext, shown: WholeTool, unread: int) -> str:
    """Approve exactly what was shown. Block on the disk. Raise UsageError, RegistryError, StoreError."""
    now = whole(app, shown.server, shown.name)
    if now.digest != shown.digest or now.risks != shown.risks:
        raise UsageError(
            f"{shown.name} is not what was on screen any more; nothing was approved.",
            hint="Close this and look at it again.",
        )
    if now.state == "approved":
        return f"{now.name} is approved already."
    book = ServerBook(app)
    server = book.get(shown.server)
    draft = next(
        (draft for draft in server.drafts if build_digest(draft, server.lock) == shown.digest),
        None,
    )
    if draft is None:
        raise UsageError(f"{shown.server} was changed this moment; nothing was approved.")
    accepted = tuple(dict.fromkeys(name for name, _, _ in shown.risks))
    record = book.approve(draft, server.lock, accepted, unread=unread)
    return f"Approved: {record.draft.name} v{record.version}, sha256 {record.digest[:16]}"


async def tried(app: AppContext, shown: WholeTool, arguments: str) -> str:
    """Call the tool that was shown once, approved or not, without recording it; return the outcome in words.

    Raise UsageError if the arguments are not a JSON object, or if the tool has changed since; AlitaError.
    """
    try:
        values = shallow_json(arguments)
    except ValueError as error:
        raise UsageError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(values, dict):
        raise UsageError('The arguments are not a JSON object, such as {"text": "x"}.')
    server, draft = await asyncio.to_thread(_as_shown, app, shown)
    report = await trial(app, server, draft, values)
    result = _pretty(report.result) if report.status == "ok" else report.error
    return f"{report.status} after {report.duration_ms:,.0f} ms\n{clip(result, _MOST_SHOWN)[0]}"


def _as_shown(app: AppContext, shown: WholeTool) -> tuple[KnownServer, ToolDraft]:
    """Return the server and the draft of the tool that was shown. Raise UsageError if it has changed since."""
    server = ServerBook(app).get(shown.server)
    draft = next((draft for draft in server.drafts if build_digest(draft, server.lock) == shown.digest), None)
    if draft is None:
        raise UsageError(f"{shown.name} is not what was on screen any more; it was not called.")
    return server, draft


def _example(tool: dict[str, Any]) -> str:
    """Return arguments for a test call: an empty value for each that is required."""
    empty = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
    schema = tool["inputSchema"]
    properties, needed = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(needed, list):
        return "{}"
    kinds = {str(name): properties.get(name) for name in needed[:20] if isinstance(name, str)}
    example = {
        name: empty.get(str(schema.get("type")) if isinstance(schema, dict) else "", "")
        for name, schema in kinds.items()
    }
    return one_line(reveal(msgspec.json.encode(example).decode()), 400)


def _whole_tool(book: ServerBook, server: KnownServer, offered: Offered) -> WholeTool:
    descriptor = pinned(offered.draft)
    changes: list[str] = []
    if offered.before is not None and offered.state == "changed":
        old_lines, new_lines = (
            _pretty(side).split("\n") for side in (pinned(offered.before.draft), descriptor)
        )
        changes = list(difflib.unified_diff(old_lines, new_lines, "approved", "now", lineterm="", n=2))
    risks = book.reviewer()(offered.draft)
    by_name = sorted(risks, key=lambda risk: names_to_accept(risks).index(risk.name))
    return WholeTool(
        server=server.spec.name,
        name=str(offered.draft.name),
        digest=build_digest(offered.draft, server.lock),
        state=offered.state,
        risks=tuple((risk.name, risk.text, risk.serious) for risk in by_name),
        changes=tuple(changes),
        example=_example(descriptor.tool),
        parts=(
            ("the descriptor, as the server sent it", _pretty(descriptor.tool)),
            ("what the server calls itself", _pretty(descriptor.calls_itself)),
            ("how it is started or reached", _pretty(descriptor.server)),
        ),
    )


def _pretty(value: object) -> str:
    encoded = msgspec.json.encode(value, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode("utf-8", "replace")
