"""The screen of the memory: what is shown, one key for each change, hostile text, recordings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from textual.widgets import Input, OptionList

from alita_tui.console.app import AlitaApp
from alita_tui.console.memory.ports import MemoryView
from alita_tui.console.memory.screen import MemoryScreen
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.commands import ForgetMemory, Improve
from alita_tui.spine.errors import StoreError, UsageError
from tests.console.screens import MEMORY, REMEMBERED, Sink, at_main, console, covered, drawn
from tests.support import goldens


@pytest.fixture(autouse=True)
def nothing_changed() -> Iterator[None]:
    REMEMBERED.clear()
    yield
    REMEMBERED.clear()


async def opened(pilot) -> OptionList:
    await drawn(pilot, goldens.walkthrough()[-1].seq)
    await pilot.press("shift+f4")
    await covered(pilot)
    assert isinstance(pilot.app.screen, MemoryScreen)
    listed = pilot.app.screen.query_one(OptionList)
    async with asyncio.timeout(180):
        while not listed.option_count:
            await pilot.pause(0.01)
    await pilot.pause()
    return listed


def ids(listed: OptionList) -> list[str]:
    return [listed.get_option_at_index(n).id or "" for n in range(listed.option_count)]


def said(app: AlitaApp) -> str:
    return str(app.screen.query_one("#said", KeyLine).render())


async def settled(pilot, count: int) -> None:
    async with asyncio.timeout(180):
        while len(REMEMBERED) < count:
            await pilot.pause(0.01)
    await pilot.pause()


async def test_the_items_of_this_project_are_listed_pinned_first_then_newest() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await opened(pilot)
        shown = ids(listed)
        assert shown[0].startswith("fact:9c8b") and shown[1].startswith("rejection:")
        assert "fact:bank" not in shown and "fact:1a2b3c4d5e6f7a8b" not in shown
        assert "2 more not shown, 2 forgotten · project shop" in str(
            app.screen.query_one("#head", Plain).render()
        )
        await pilot.press("a")
        assert len(ids(listed)) == len(MEMORY.items) and "closed" in str(listed.get_option_at_index(7).prompt)
        await pilot.press("slash", *"fiscal", "enter")
        assert [one[:6] for one in ids(listed)] == ["fact:2", "fact:1"]
        await pilot.press("escape")
        await pilot.press("slash", *"recipe", "enter")
        assert ids(listed) == ["recipe:0f1e2d3c4b5a6978"]
        sheet = app.screen.query_one(Sheet).text()
        assert "bar_chart(rows=s1/rows, height=480)" in sheet and "3 of 4 times" in sheet
        await pilot.press("escape", "escape")
        assert at_main(app)


async def test_each_change_is_one_key_and_forgetting_reaches_the_session() -> None:
    sink = Sink()
    app = console(goldens.walkthrough(), sink=sink)
    async with app.run_test(size=(80, 24)) as pilot:
        listed = await opened(pilot)
        pinned = ids(listed)[0]
        await pilot.press("p")
        await settled(pilot, 1)
        await pilot.press("s")
        await settled(pilot, 2)
        await pilot.press("d")
        await settled(pilot, 3)
        assert REMEMBERED == [("unpin", pinned, ""), ("move", pinned, ""), ("forget", pinned, "")]
        assert sink.commands == [ForgetMemory(item_id=pinned)]
        assert pinned not in ids(listed) and "does not come back" in said(app)
        await pilot.press("u")
        await settled(pilot, 4)
        assert REMEMBERED[3] == ("back", pinned, "") and sink.commands[1] == ForgetMemory(
            item_id=pinned, back=True
        )
        await pilot.press("u")
        assert "Nothing to undo" in said(app)


async def test_a_recipe_that_worked_three_times_can_be_ordered_as_a_tool() -> None:
    sink = Sink()
    app = console(goldens.walkthrough(), sink=sink)
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await opened(pilot)
        await pilot.press("t")
        assert "several calls" in said(app), "a fact is no recipe"
        listed.highlighted = next(n for n, one in enumerate(ids(listed)) if one.startswith("recipe:"))
        await pilot.pause()
        assert "t has it built" in app.screen.query_one(Sheet).text()
        await pilot.press("t")
        async with asyncio.timeout(180):
            while not sink.commands:
                await pilot.pause(0.01)
        (command,) = sink.commands
        assert isinstance(command, Improve) and command.proposal == "recipe:0f1e2d3c4b5a6978"
        assert at_main(app), "the build is followed there"


async def test_what_is_typed_into_an_edit_is_added_to_the_present_text() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await opened(pilot)
        listed.highlighted = ids(listed).index("fact:2b3c4d5e6f7a8b9c")
        await pilot.press("e", "!", "enter")
        await settled(pilot, 1)
        ((_, _, text),) = REMEMBERED
        assert text.startswith("our fiscal year") and text.endswith("!")


async def test_a_project_without_items_names_the_key_that_shows_all() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await opened(pilot)
        screen = app.screen
        assert isinstance(screen, MemoryScreen) and screen._memory is not None
        others = tuple(entry for entry in screen._memory.items if entry.project not in ("", "shop"))
        assert others
        screen._memory = MemoryView(items=others, project="shop")
        screen._fill()
        await pilot.pause()
        assert "a shows all" in str(listed.get_option_at_index(0).prompt)
        await pilot.press("slash", *"nowhere", "enter")
        assert "No matches" in str(listed.get_option_at_index(0).prompt)


async def test_an_edit_starts_from_the_present_text_and_escape_cancels_it() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(120, 36)) as pilot:
        listed = await opened(pilot)
        listed.highlighted = next(n for n, one in enumerate(ids(listed)) if one.startswith("fact:2b"))
        await pilot.press("e")
        line = app.screen.query_one("#line", Input)
        assert line.has_focus and line.value == "our fiscal year: it starts in July"
        await pilot.press("escape")
        assert not REMEMBERED and listed.has_focus
        await pilot.press("e")
        line.value = "our fiscal year starts in October"
        await pilot.press("enter")
        await settled(pilot, 1)
        assert REMEMBERED == [("edit", "fact:2b3c4d5e6f7a8b9c", "our fiscal year starts in October")]


async def test_enter_opens_the_event_that_an_item_was_learned_from() -> None:
    app = console(goldens.walkthrough())
    asked: list[tuple[str, int | None]] = []

    def look(session_id: str, seq: int | None) -> None:
        asked.append((session_id, seq))

    app.replay_session = look  # type: ignore[method-assign,assignment]
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert asked == [("golden", 13)]


async def test_hostile_text_is_shown_harmless() -> None:
    app = console(goldens.walkthrough())
    async with app.run_test(size=(80, 24)) as pilot:
        listed = await opened(pilot)
        listed.highlighted = next(n for n, one in enumerate(ids(listed)) if one.startswith("episode:"))
        await pilot.pause()
        sheet = app.screen.query_one(Sheet).text()
        assert "[b]bold[/b] red" in sheet and "\x1b" not in sheet and "\u202e" not in sheet


async def test_an_unreadable_memory_is_reported() -> None:
    app = console(goldens.walkthrough())

    async def broken() -> MemoryView:
        raise StoreError("The memory is damaged.")

    async def refused(*_: str) -> MemoryView:
        raise UsageError("That is not kept.", hint="It holds a secret.")

    app._catalog.change_memory = refused  # type: ignore[method-assign,assignment]
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("p")
        async with asyncio.timeout(180):
            while "It holds a secret" not in said(app):
                await pilot.pause(0.01)
        await pilot.press("escape")
        app._catalog.memory = broken  # type: ignore[method-assign]
        await pilot.press("shift+f4")
        await covered(pilot)
        async with asyncio.timeout(180):
            while "damaged" not in said(app):
                await pilot.pause(0.01)


async def test_an_empty_memory_says_so() -> None:
    app = console(goldens.walkthrough())

    async def empty() -> MemoryView:
        return MemoryView()

    app._catalog.memory = empty  # type: ignore[method-assign]
    async with app.run_test(size=(80, 24)) as pilot:
        listed = await opened(pilot)
        assert "Nothing is remembered yet." in str(listed.get_option_at_index(0).prompt)
        await pilot.press("p", "d", "e", "enter", "s")
        await pilot.pause()
        assert REMEMBERED == []


async def test_nothing_can_be_changed_while_the_past_is_shown() -> None:
    app = console(goldens.walkthrough())
    app._engine = None
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("p", "d", "s", "e", "t", "u")
        await pilot.pause()
        assert REMEMBERED == [] and "only looked at" in said(app) or "Nothing to undo" in said(app)
