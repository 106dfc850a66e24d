"""Titles give way at words: of panes, tabs and sessions, with wide characters too."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.widgets import OptionList

from alita_tui import events as e
from alita_tui.console.session.tabs import Tab, Tabs
from alita_tui.console.sessions.catalog import SessionLine
from alita_tui.console.sessions.rows import details, session_row
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Row, fold_row
from alita_tui.console.widgets.styled_text import text_of, width_of
from tests.console import keeping_lab
from tests.console.keeping_lab import NOW
from tests.console.navigating import until
from tests.console.screens import console, covered, drawn
from tests.support import goldens, streams

TITLE = "Validate the addresses of 東京都 the customers and write them into a spreadsheet for accounting"


def whole_words(shown: str, text: str) -> bool:
    """Return whether what is shown is words of a text from its beginning, and an ellipsis where some are left out."""
    words, kept = text.split(), shown.split()
    if kept[-1] == "…":
        return 1 < len(kept) <= len(words) and kept[:-1] == words[: len(kept) - 1]
    return kept == words


@pytest.mark.parametrize("width", range(60, 110, 3))
def test_the_title_of_a_session(width: int) -> None:
    line = SessionLine("s1", TITLE, NOW - timedelta(hours=1), 40, "closed", 0.24, 3, NOW, "openai:small", 1)
    row = session_row(line, width, NOW, here=False, marked=False).plain
    assert cell_len(row) <= width
    assert whole_words(row[9:].partition("3 tools")[0], TITLE)


@pytest.mark.parametrize("width", [100, 104, 113, 120])
async def test_the_title_of_a_pane(width: int) -> None:
    envelopes = goldens.walkthrough()
    app = console(envelopes)
    async with app.run_test(size=(width, 30)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        side = app.screen.query_one("Side")
        side.inspect("Tool", TITLE, (), pinned=True)  # type: ignore[attr-defined]
        await pilot.pause()
        title = app.screen.query_one("#title-inspector", Plain)
        shown = title.render_line(0).text.strip()
        assert shown.startswith("Tool  Validate") and shown.endswith("pinned")
        assert whole_words(shown.removeprefix("Tool").removesuffix("pinned"), TITLE)


class Tabbed(ThemedApp[None]):
    """Tabs alone."""

    def compose(self) -> ComposeResult:
        yield Tabs("F4")


@pytest.mark.parametrize("width", [60, 80, 101])
async def test_the_name_of_a_tab(width: int) -> None:
    app = Tabbed()
    async with app.run_test(size=(width, 5)) as pilot:
        tabs = app.query_one(Tabs)
        tabs.advance((Tab(TITLE, "●", "", active=True), Tab(TITLE, "◌", "")))
        await pilot.pause()
        names = str(tabs.content).partition("F4")[0].split(" │ ")
        assert len(names) == 2
        assert all(whole_words(name.strip()[2:], TITLE) for name in names)


@pytest.mark.parametrize("width", [72, 80, 93])
async def test_the_name_of_a_task(width: int) -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text=TITLE))
    app = console(tape.envelopes)
    async with app.run_test(size=(width, 24)) as pilot:
        await drawn(pilot, tape.envelopes[-1].seq)
        await pilot.press("ctrl+k")
        await covered(pilot)
        listed = app.screen.query_one(OptionList)

        def shown() -> str:
            name, _, _ = listed.render_line(0).text.partition("$")  # the columns of cost and time follow
            return name.strip().removeprefix("running").strip()

        await until(pilot, lambda: "Validate" in shown() and not shown().endswith("accounting"))
        assert whole_words(shown(), TITLE)


def test_a_row_that_takes_one_line_only() -> None:
    for width in range(24, 90, 7):
        (line,) = fold_row(Row(((TITLE, ""),), clip=True), width)
        assert width_of(line) <= width and whole_words(text_of(line), TITLE)


def test_a_damaged_session_is_listed_by_its_file_and_says_what_can_be_done() -> None:
    sound = keeping_lab.lines()[4]
    part = replace(sound, title="", own_title="", state="damaged")
    shown = session_row(part, 100, NOW, here=False, marked=False).plain
    assert f"{part.session_id}.json (damaged)" in shown and "Untitled" not in shown
    told = details(part, {}).plain
    assert "Some of its records cannot be read." in told and "v shows what is left" in told
    whole = replace(
        sound, title="It is no JSON.", own_title="It is no JSON.", state="damaged", readable=False
    )
    assert (
        f"{whole.session_id}.json (damaged)" in session_row(whole, 100, NOW, here=False, marked=False).plain
    )
    told = details(whole, {}).plain
    assert "Nothing of it can be read: It is no JSON." in told and "d deletes it" in told
    named = replace(sound, title="My report", own_title="", state="damaged")
    assert "My report (damaged)" in session_row(named, 100, NOW, here=False, marked=False).plain
