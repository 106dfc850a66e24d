"""The rows of the servers' screen: one for each server, and the details of the chosen one."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content

from alita_tui.console.servers.ports import ServerLine, ServerTool
from alita_tui.console.widgets.figures import age, span
from alita_tui.console.widgets.sheet import BLANK, Row, fact, heading, say
from alita_tui.console.widgets.styled_text import cut
from alita_tui.spine.text import counted, one_line
from alita_tui.state.servers import SeenServer, ServerNote

_RESTS_AFTER = 3
"""Failures in a row after which a server is not called for a while."""
_NAME, _STATE, _LEAST = 14, 11, 8
STATES = {
    "ready": ("●", "$alita-good"),
    "running": ("▸", "$alita-run"),
    "waiting": ("◈", "$alita-wait"),
    "suspended": ("!", "$alita-warn"),
    "failing": ("✗", "$alita-bad"),
    "changed": ("✗", "$alita-bad"),
    "off": ("○", "$alita-muted"),
}
"""State → glyph and colour; never colour alone: its name follows."""
_TOOL_MARKS = {
    "approved": ("●", "good"),
    "new": ("◈", "wait"),
    "changed": ("!", "warn"),
    "suspended": ("!", "warn"),
    "not yet": ("✗", "bad"),
}


def state_of(server: ServerLine, seen: SeenServer | None) -> str:
    """Return a server's state, the most pressing thing first."""
    if server.unsigned:
        return "changed"
    if not server.enabled:
        return "off"
    if seen is not None and seen.error:
        return "failing"
    states = {tool.state for tool in server.tools}
    if "suspended" in states:
        return "suspended"
    if "approved" not in states and states & {"new", "changed"}:
        return "waiting"
    return "running" if seen is not None and seen.runs else "ready"


def server_row(server: ServerLine, seen: SeenServer | None, width: int) -> Content:
    """Return a server's line in the list."""
    state = state_of(server, seen)
    glyph, style = STATES[state]
    approved = sum(tool.state == "approved" for tool in server.tools)
    tools = f"{approved}/{len(server.tools)}"
    call_time = seen.call_ms if seen is not None and seen.call_ms else server.start_ms
    name = cut(one_line(server.name, 40), _NAME)
    right = f"{tools:>6}{span(call_time) if call_time else '':>8}"
    room = max(width - _NAME - _STATE - len(right) - 4, 0)
    where = cut(f"{server.transport} {one_line(server.where, 200)}", room) if room >= _LEAST else ""
    return Content.assemble(
        (f" {glyph} ", f"bold {style}"),
        f"{name:<{_NAME}}",
        (f"{state:<{_STATE}}", style if state != "ready" else "$alita-muted"),
        (where, "$alita-muted"),
        " " * max(room - Content(where).cell_length, 0),
        (right, "$alita-muted"),
    )


def details(server: ServerLine, seen: SeenServer | None, now: datetime, approve: str) -> list[Row]:
    """Return the details of a server; `approve` names the key that approves a waiting tool."""
    rows = [*_standing(server, seen), BLANK]
    waiting = sum(tool.state in ("new", "changed", "suspended") for tool in server.tools)
    note = f"{waiting} to approve: {approve}" if waiting else "all approved" if server.tools else "none"
    rows += heading("Tools", note)
    rows += [row for tool in server.tools for row in _tool(tool)]
    for name, reason in server.refused:
        rows += say(
            f"✗ {one_line(name, 60) or 'its list'}  refused: {one_line(reason, 200)}", "bad", indent=2
        )
    rows += [BLANK, *heading("Log", "of this session, the newest first")]
    notes = seen.log if seen is not None else ()
    rows += [_note(note) for note in reversed(notes)] or say("  It was not used yet.", "muted")
    return [*rows, BLANK, *heading("About it"), *_facts(server, now)]


def _standing(server: ServerLine, seen: SeenServer | None) -> list[Row]:
    state = state_of(server, seen)
    reason = {
        "changed": "its document is not as you added it: it does not start until you add or remove it",
        "off": "none of its tools is called",
        "suspended": "it changed tools after you approved them; those do not run",
        "waiting": "no tool of it is approved",
        "failing": _failing(seen),
    }.get(state, "")
    calls = ""
    if seen is not None and seen.calls:
        last = f", the last one took {span(seen.call_ms)}" if seen.call_ms else ""
        calls = f"{counted(seen.calls, 'call')} in this session{last}"
    place = {"sandbox": "in the sandbox", "host": "on this machine, with all your rights"}
    runs = place.get(server.where) or f"elsewhere: {one_line(server.where, 200)}"
    bad = "bad" if state in ("failing", "changed") else ""
    facts = [
        ("state", f"{state}{f': {reason}' if reason else ''}", bad),
        ("error", str(one_line(seen.error, 400)) if seen is not None else "", "bad"),
        ("runs", runs, "warn" if server.where == "host" else ""),
        ("calls", calls, ""),
    ]
    return [fact(label, ((value, style),)) for label, value, style in facts if value]


def _facts(server: ServerLine, now: datetime) -> list[Row]:
    listed = age(datetime.fromisoformat(server.listed_at), now) if server.listed_at else ""
    listed = listed if listed in ("", "now") else f"{listed} ago"
    facts = [
        ("command", one_line(server.command, 300)),
        ("may use", one_line(", ".join(server.may_use), 300) or "nothing but what a call gives it"),
        ("calls itself", one_line(server.claims, 120)),
        ("protocol", one_line(server.protocol, 40)),
        ("listed", f"{listed}, started in {span(server.start_ms)}" if listed else "never"),
    ]
    return [
        fact(label, str(value))
        for label, value in facts
        if value and not (label == "may use" and server.transport == "http")
    ]


def _failing(seen: SeenServer | None) -> str:
    if seen is None or not seen.failures:
        return ""
    rests = ", left alone for a while" if seen.failures >= _RESTS_AFTER else ""
    return f"{counted(seen.failures, 'failure')} in a row{rests}"


def _tool(tool: ServerTool) -> list[Row]:
    mark, style = _TOOL_MARKS[tool.state]
    risks = f"  {', '.join(map(str, tool.risks))}" if tool.risks else ""
    head = Row(
        (
            (one_line(tool.name, 64), ""),
            (f"  {tool.state}", "muted" if tool.state == "approved" else style),
            (one_line(risks, 200) and f"  {one_line(risks, 200)}", "warn"),
        ),
        ((f"  {mark} ", style),),
    )
    text = tool.problem or tool.description
    return [
        head,
        Row(((one_line(text, 200), "bad" if tool.problem else "muted"),), (("    ", ""),), clip=True),
    ]


def _note(note: ServerNote) -> Row:
    at = note.at.astimezone().strftime("%H:%M:%S")
    return Row(((one_line(note.text, 300), "bad" if note.bad else ""),), ((f"  {at} ", "muted"),))
