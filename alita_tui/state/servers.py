"""MCP servers derived from a session's events: whether one runs, how its calls went, its messages."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope

_LINES = 60
_SERVERS = 100


class ServerNote(msgspec.Struct, frozen=True, gc=False):
    """Something that happened to a server."""

    at: datetime
    text: str
    bad: bool = False


class SeenServer(msgspec.Struct, frozen=True, gc=False):
    """A server that was used in this session."""

    name: str
    runs: bool = False
    calls: int = 0
    call_ms: float = 0.0
    """Duration of its last call that returned a result; 0 if none did."""
    failures: int = 0
    """Starts in a row that ended by a fault."""
    error: str = ""
    """Its last fault; empty once a call got a result again."""
    log: tuple[ServerNote, ...] = ()
    """The newest notes, oldest first."""
    open: tuple[str, ...] = ()
    """Ids of its calls that run."""


Servers = tuple[SeenServer, ...]
ServerEvent = (
    e.ServerStarted
    | e.ServerStopped
    | e.ServerAsked
    | e.ToolSuspended
    | e.ToolCalled
    | e.ToolReturned
    | e.ToolFailed
)


def after(servers: Servers, envelope: Envelope, event: ServerEvent) -> Servers:
    """Return the servers after an event."""
    match event:
        case e.ToolReturned(call_id=call_id) | e.ToolFailed(call_id=call_id):
            server = next((candidate for candidate in servers if call_id in candidate.open), None)
            return servers if server is None else _put(servers, _ended(server, envelope.at, event))
        case e.ToolCalled(server=""):
            return servers
        case _:
            return _put(servers, _updated(servers, envelope.at, event))


def _updated(
    servers: Servers,
    at: datetime,
    event: e.ServerStarted | e.ServerStopped | e.ServerAsked | e.ToolSuspended | e.ToolCalled,
) -> SeenServer:
    server = next(
        (candidate for candidate in servers if candidate.name == event.server), SeenServer(name=event.server)
    )
    note = ServerNote(at=at, text="")
    match event:
        case e.ToolCalled(call_id=call_id, name=name):
            note = replace(note, text=f"{name} is called")
            server = replace(server, calls=server.calls + 1, open=(*server.open, call_id))
        case e.ServerStarted(where=where):
            note = replace(note, text=f"started ({where})")
            server = replace(server, runs=True)
        case e.ServerStopped(reason=reason, fault=fault):
            note = replace(note, text=f"stopped: {reason}", bad=fault)
            failures = server.failures + (server.runs and fault)
            server = replace(
                server,
                runs=False,
                failures=failures if fault else server.failures,
                error=reason if fault else server.error,
            )
        case e.ServerAsked(request=request, granted=True):
            note = replace(note, text=f"asked for {request}, as granted")
        case e.ServerAsked(request=request, reason=reason):
            note = replace(note, text=f"asked for {request} and was refused{f': {reason}' if reason else ''}")
        case e.ToolSuspended(name=name, version=version, reason=reason):
            note = replace(note, text=f"{name} v{version} is suspended: {reason}", bad=True)
    return _with_note(server, note)


def _ended(server: SeenServer, at: datetime, event: e.ToolReturned | e.ToolFailed) -> SeenServer:
    still_open = tuple(call_id for call_id in server.open if call_id != event.call_id)
    server = replace(server, open=still_open)
    if isinstance(event, e.ToolReturned):
        took = event.report.duration_ms
        answered = replace(server, call_ms=took, failures=0, error="")
        return _with_note(answered, ServerNote(at=at, text=f"answered after {took:,.0f} ms"))
    return _with_note(server, ServerNote(at=at, text=event.text, bad=True))


def _with_note(server: SeenServer, note: ServerNote) -> SeenServer:
    return replace(server, log=(*server.log, note)[-_LINES:])


def _put(servers: Servers, server: SeenServer) -> Servers:
    return (*(other for other in servers if other.name != server.name), server)[-_SERVERS:]
