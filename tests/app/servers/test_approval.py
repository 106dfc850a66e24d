"""Approving a server's tool on the console's screen: the very tool that was shown, in a real terminal, by one deliberate key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.app.context import AppContext, close_all
from alita_tui.app.servers import views
from alita_tui.app.servers.book import KnownServer, ServerBook
from alita_tui.app.servers.outside_session import look_at
from alita_tui.mcp_box.remote.pinning import listing
from alita_tui.spine.errors import UsageError
from alita_tui.spine.servers import ServerSpec
from tests.e2e.test_terminal import Terminal
from tests.mcp_box.web_lab import Remote, running

SPEC = ServerSpec(name="far", place="url", url="https://a.example/mcp")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[AppContext]:
    try:
        yield AppContext.open(tmp_path / "home")
    finally:
        close_all()


def lists(app: AppContext, **descriptor: Any) -> None:
    """The server `far` lists one tool."""
    book = ServerBook(app)
    tool = {"name": "hi", "description": "Greets.", "inputSchema": {"type": "object"}, **descriptor}
    claims = {"name": "far", "version": "1"}
    found = listing(SPEC, claims, (tool,))
    known = KnownServer(
        spec=SPEC, calls_itself=claims, drafts=found.drafts, listed_at="2026-11-20T08:00:00+00:00"
    )
    book.put_in_place(book.typed(known), replace=True)


def test_exactly_the_shown_tool_is_approved_with_its_risks(app: AppContext) -> None:
    lists(app)
    shown = views.whole(app, "far", "far_hi")
    assert '"description": "Greets."' in "".join(text for _, text in shown.parts)
    assert "remote-code" in [name for name, _, _ in shown.risks]
    assert "far_hi v1" in views.approved(app, shown, 3)
    record = app.library.versions("far_hi")[-1]
    assert (record.digest, record.origin) == (shown.digest, "remote")
    entry = app.audit.entries()[-1]
    told = msgspec.json.encode(entry).decode()
    assert "accepted: " in told and "approved with 3 lines unread" in told
    assert "approved already" in views.approved(app, shown, 0)


def test_a_tool_that_changed_while_it_was_on_screen_is_not_approved(app: AppContext) -> None:
    lists(app)
    shown = views.whole(app, "far", "far_hi")
    lists(app, description="Greets, and sends your files.")
    with pytest.raises(UsageError, match="not what was on screen"):
        views.approved(app, shown, 0)
    assert app.library.versions("far_hi") == ()
    with pytest.raises(UsageError, match="lists no tool"):
        views.whole(app, "far", "gone")


def test_risks_that_changed_meanwhile_are_not_accepted(app: AppContext) -> None:
    lists(app)
    shown = views.whole(app, "far", "far_hi")
    fewer = msgspec.structs.replace(shown, risks=shown.risks[1:])
    with pytest.raises(UsageError, match="not what was on screen"):
        views.approved(app, fewer, 0)
    assert app.library.versions("far_hi") == ()


async def test_a_test_call_uses_the_shown_tool_and_approves_nothing(app: AppContext) -> None:
    remote = Remote()
    with running(remote) as port:
        spec = msgspec.structs.replace(SPEC, url=f"http://127.0.0.1:{port}/mcp")
        book = ServerBook(app)
        known = await look_at(app, book.typed(KnownServer(spec=spec)))
        book.put_in_place(known, replace=True)
        shown = views.whole(app, "far", "far_hi")
        said = await views.tried(app, shown, shown.example)
        assert said.startswith("ok after") and "hello" in said
        for arguments in ("", "[1]", "{"):
            with pytest.raises(UsageError, match="JSON"):
                await views.tried(app, shown, arguments)
        remote.seen.clear()
        with pytest.raises(UsageError, match="not what was on screen"):
            await views.tried(app, msgspec.structs.replace(shown, digest="0" * 64), "{}")
        assert not remote.seen and app.library.versions("far_hi") == ()


def test_the_example_of_a_test_call_has_all_required_arguments(app: AppContext) -> None:
    takes = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["city", "days", "gone"],
    }
    lists(app, inputSchema=takes)
    assert views.whole(app, "far", "far_hi").example == '{"city":"","days":0,"gone":""}'


@pytest.mark.pty
@pytest.mark.walk
def test_in_a_terminal_a_held_key_approves_nothing_and_a_deliberate_one_does(tmp_path: Path) -> None:
    home = tmp_path / "home"
    app = AppContext.open(home)
    try:
        lists(app)
        risks = views.whole(app, "far", "far_hi").risks
    finally:
        close_all()
    environ = {key: one for key, one in os.environ.items() if key not in ("COLUMNS", "LINES")}
    environ |= {"HOME": str(tmp_path)}
    terminal = Terminal(environ, "--home", str(home), "--model", "demo:recorded")
    try:
        terminal.wait(rb"Library", 60)
        terminal.type(b"\x1b[15;2~", until=rb"MCP servers")
        terminal.type(b"a", until=rb"Approve a tool")
        terminal.type(b"a" * 40)
        terminal.quiet(3)
        assert terminal.process.poll() is None, "a held key ends nothing"
        terminal.type(b"j", until=rb"asks for")
        terminal.quiet(3)
        terminal.type(b"a", until=rb"type their names|type its name")
        for char in " ".join(dict.fromkeys(name for name, _, _ in risks)):
            terminal.type(char.encode())
        terminal.quiet(3)
        terminal.type(b"a", until=rb"Approved: far_hi")
        terminal.type(b"\x1b[27u" + b"q" * 30)
        terminal.quiet(1)
        assert terminal.process.poll() is None, "a held key ends nothing"
    finally:
        terminal.process.terminate()
        terminal.end()
    app = AppContext.open(home)
    try:
        assert [one.state for one in app.library.versions("far_hi")] == ["provisional"]
    finally:
        close_all()
