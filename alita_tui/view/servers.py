"""Rows of the trace about MCP servers and their requests. Texts of servers are neutralised as those of any row."""

from __future__ import annotations

from alita_tui import events as e
from alita_tui.view.model import RowKind, Tone
from alita_tui.view.plan import offered

_WORDS = {
    "sampling/createMessage": "asks a model",
    "roots/list": "was told its roots",
}
ServerEvent = e.ServerStarted | e.ServerStopped | e.ServerAsked | e.ServerQuestion | e.ServerQuestionEnded


def server_row(event: ServerEvent) -> tuple[RowKind, str, str, str, Tone]:
    """Return kind, title, detail, meta and tone of an event's row."""
    match event:
        case e.ServerStarted(server=server, where=where, identity=identity):
            return "notice", f"Server {server} started", f"{where}, {identity[:16]}", "", "muted"
        case e.ServerStopped(server=server, reason=reason, fault=fault):
            return "notice", f"Server {server} stopped: {reason}", "", "", "warn" if fault else "muted"
        case e.ServerAsked(server=server, request=request, granted=True, text=text):
            return (
                "notice",
                f"Server {server} {_WORDS.get(request, f'asked for {request}')}",
                text,
                "granted",
                "normal",
            )
        case e.ServerAsked(server=server, request=request, reason=reason):
            suffix = f": {reason}" if reason else ""
            return "notice", f"Server {server} asked for {request} and was refused{suffix}", "", "", "muted"
        case e.ServerQuestion(text=text, choices=choices):
            question = offered(text, choices)
            return "question", question, question, "a server asks", "wait"
        case e.ServerQuestionEnded(server=server, outcome="answered", text=text):
            return "task", text, f"{text}\n\nSent to the server {server}.", f"to {server}"[:40], "normal"
        case e.ServerQuestionEnded(outcome="refused", text=text):
            return "task", text, f"{text}\n\nNothing was sent: it is none of the choices.", "not sent", "warn"
        case e.ServerQuestionEnded(server=server):
            return (
                "notice",
                f"The question of the server {server} is closed: its call is over",
                "",
                "",
                "muted",
            )
