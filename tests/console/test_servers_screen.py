"""The screen of the MCP servers: what is shown, a key for each change, hostile text, recordings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from textual import events
from textual.widgets import Input, OptionList

from alita_tui.console.app import AlitaApp
from alita_tui.console.servers.approving import ToolApproval
from alita_tui.console.servers.screen import ServersScreen
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.commands import RefreshLibrary
from alita_tui.spine.errors import UsageError
from tests.console.screens import SIZES, THEMES, Sink, at_main, console, covered, drawn
from tests.console.servers_lab import APPROVED_TOOLS, CHANGED_SERVERS, TRIED_TOOLS, using


@pytest.fixture(autouse=True)
def nothing_changed() -> Iterator[None]:
    CHANGED_SERVERS.clear()
    APPROVED_TOOLS.clear()
    TRIED_TOOLS.clear()
    yield
    CHANGED_SERVERS.clear()
    APPROVED_TOOLS.clear()
    TRIED_TOOLS.clear()


async def opened(pilot) -> OptionList:
    await drawn(pilot, using()[-1].seq)
    await pilot.press("shift+f5")
    await covered(pilot)
    assert isinstance(pilot.app.screen, ServersScreen)
    listed = pilot.app.screen.query_one(OptionList)
    async with asyncio.timeout(180):
        while not listed.option_count:
            await pilot.pause(0.01)
    await pilot.pause()
    return listed


def said(app: AlitaApp) -> str:
    return str(app.screen.query_one("#said", KeyLine).render())


def sheet(app: AlitaApp) -> str:
    return app.screen.query_one(Sheet).text()


async def settled(pilot, words: str) -> None:
    async with asyncio.timeout(180):
        while words not in said(pilot.app):
            await pilot.pause(0.01)


async def test_the_server_screen_shows_state_tools_and_log_of_each_server() -> None:
    app = console(using())
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await opened(pilot)
        rows = [str(listed.get_option_at_index(n).prompt) for n in range(listed.option_count)]
        for name, state, tools in (
            ("files", "suspended", "1/2"), ("notes", "waiting", "0/2"), ("shell", "off", "1/1"), ("weather", "failing", "1/1"),
        ):  # fmt: skip
            (row,) = [one for one in rows if name in one]
            assert state in one_space(row) and tools in row, row
        assert "4 servers, 3 of 6 tools approved" in str(app.screen.query_one("#head", Plain).render())
        found = sheet(app)
        assert "write_file  suspended" in found and "hidden-characters" in found
        assert "asked for roots/list and was refused" in found and "answered after 37 ms" in found
        assert "\x1b" not in found and "\u202e" not in found and "[b]Always[/b]" in found
        await pilot.press("down")
        assert "another tool is called csv_read already" in sheet(app)
        assert "api.example.org:443" in sheet(app)
        await pilot.press("down")
        assert "on this machine, with all your rights" in sheet(app)
        await pilot.press("down")
        assert "3 failures in a row, left alone for a while" in sheet(
            app
        ) and "no answer within 45 s" in sheet(app)
        await pilot.press("escape")
        assert at_main(app)


def one_space(text: str) -> str:
    return " ".join(text.split())


async def test_test_switch_and_remove_are_a_key_each_and_removing_asks_once_more() -> None:
    sink = Sink()
    app = console(using(), sink=sink)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("t")
        await settled(pilot, "test of files")
        await pilot.press("e", "down", "down")
        await settled(pilot, "disable of files")
        await pilot.press("e")
        await settled(pilot, "enable of shell")
        await pilot.press("d")
        assert "again removes shell and archives 1 tool" in said(app)
        await pilot.press("up", "d")
        assert "again removes notes" in said(app), "what is asked of one server is not done to another"
        await pilot.press("d")
        await settled(pilot, "remove of notes")
        assert CHANGED_SERVERS == [
            ("test", "files"), ("disable", "files"), ("enable", "shell"), ("remove", "notes"),
        ]  # fmt: skip
        assert sink.commands == [RefreshLibrary()]


async def shown_whole(pilot) -> ToolApproval:
    """The key that approves, pressed on the chosen server: its next tool is on screen."""
    await pilot.press("a")
    async with asyncio.timeout(180):
        while not isinstance(pilot.app.screen, ToolApproval):
            await pilot.pause(0.01)
    await covered(pilot)
    return pilot.app.screen


async def armed(pilot, screen: ToolApproval) -> None:
    async with asyncio.timeout(180):
        while not screen.armed:
            await pilot.pause(0.05)


async def test_a_tool_is_approved_as_it_was_shown_once_its_risks_were_typed() -> None:
    sink = Sink()
    app = console(using(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        screen = await shown_whole(pilot)
        found = sheet(app)
        assert "what words means" in found and "+  is" in found and "[b]Always[/b]" in found
        assert "\x1b" not in found and "\u202e" not in found
        await pilot.press("j")
        await armed(pilot, screen)
        await pilot.press("a")
        assert "type their names: words hidden-characters" in said(app)
        await pilot.press(*"words", "enter")
        assert APPROVED_TOOLS == [] and "type their names: hidden-characters" in said(app)
        await pilot.press("space", *"hidden-characters")
        await armed(pilot, screen)
        await settled(pilot, "Risks accepted by name")
        assert APPROVED_TOOLS == [], "the names are no verdict"
        await pilot.press("a")
        await settled(pilot, "Approved: write_file")
        assert APPROVED_TOOLS == [("write_file", "b2" * 32, 0)]
        assert sink.commands == [RefreshLibrary()] and isinstance(app.screen, ServersScreen)


async def test_hurried_and_held_keys_approve_no_tool() -> None:
    sink = Sink()
    app = console(using(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("down")
        screen = await shown_whole(pilot)
        await pilot.press(*["a"] * 20)
        await armed(pilot, screen)
        await pilot.press("a")
        assert not screen._asking, "the last key again may be held"
        await pilot.press("j", "a")
        assert not screen._asking, "no quiet before it"
        await pilot.press("escape", "escape")
        assert at_main(app) and app.is_running
        assert (CHANGED_SERVERS, APPROVED_TOOLS, sink.commands) == ([], [], [])


async def test_a_test_call_is_made_with_typed_arguments_and_approves_nothing() -> None:
    sink = Sink()
    app = console(using(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        screen = await shown_whole(pilot)
        await armed(pilot, screen)
        await settled(pilot, "t calls it once")
        for key in ("t", *["enter"] * 10):  # at once: a loaded machine would press them one by one
            app.post_message(events.Key(key, key if key == "t" else "\r"))
        await pilot.pause()
        assert TRIED_TOOLS == [], "an Enter that is held calls nothing"
        await settled(pilot, "nothing is approved or recorded")
        assert screen.query_one("#arguments", Input).value == "{}"
        await pilot.press("backspace", *' "a": 1}')
        await armed(pilot, screen)
        await pilot.press("enter")
        async with asyncio.timeout(180):
            while "TEST CALL" not in sheet(app):
                await pilot.pause(0.01)
        assert TRIED_TOOLS == [("write_file", '{ "a": 1}')]
        assert "ok after 37 ms" in sheet(app) and "[b]x[/b]" in sheet(app)
        assert "\x1b" not in sheet(app) and "\u202e" not in sheet(app)
        assert (APPROVED_TOOLS, sink.commands) == ([], [])
        await pilot.press("escape")
        assert isinstance(app.screen, ServersScreen)


async def test_a_tool_that_changed_meanwhile_is_not_approved() -> None:
    sink = Sink()
    app = console(using(), sink=sink)

    async def refused(*_: object) -> str:
        raise UsageError("write_file is not what was on screen any more.", hint="Look again.")

    app._catalog.approve_server_tool = refused  # type: ignore[method-assign,assignment]
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        screen = await shown_whole(pilot)
        await pilot.press("j")
        await armed(pilot, screen)
        await pilot.press("a", *"words", "space", *"hidden-characters")
        await settled(pilot, "Risks accepted by name")
        await armed(pilot, screen)
        await pilot.press("a")
        await settled(pilot, "not what was on screen any more")
        await pilot.press("j", "a")
        assert "not what was on screen any more" in said(app), "nothing approves it any more"
        await pilot.press("escape")
        assert isinstance(app.screen, ServersScreen) and sink.commands == []


async def test_in_a_recording_the_server_screen_changes_nothing_and_errors_are_shown() -> None:
    app = console(using(), sink=None)
    app._engine = None
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("d", "d", "e", "t", "a")
        assert isinstance(app.screen, ServersScreen) and CHANGED_SERVERS == [] and "recording" in said(app)

    async def refused(*_: str) -> str:
        raise UsageError("The server files is not as it was added.", hint="Look at it.")

    app = console(using(), sink=Sink())
    app._catalog.change_server = refused  # type: ignore[method-assign,assignment]
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("t")
        await settled(pilot, "not as it was added")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_tool_as_it_is_approved_and_tried(snap_compare, size: tuple[int, int], theme: str) -> None:
    async def before(pilot) -> None:
        await opened(pilot)
        screen = await shown_whole(pilot)
        await armed(pilot, screen)
        await pilot.press("t")
        await armed(pilot, screen)
        await pilot.press("enter")
        async with asyncio.timeout(180):
            while "TEST CALL" not in sheet(pilot.app):
                await pilot.pause(0.01)
        await armed(pilot, screen)
        await settled(pilot, "calls it once")

    assert snap_compare(console(using(), theme, sink=Sink()), terminal_size=size, run_before=before)
