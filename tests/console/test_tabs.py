"""Running tasks and sessions as tabs: what runs is on screen, and one key or click away."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import RunningSession, Switch
from alita_tui.console.session.tabs import Tabs, after, tabs_of
from alita_tui.view.fold import fold_all
from tests.console.screens import Catalog, Sink, console, drawn
from tests.console.test_lanes import OVER, SIDE_BY_SIDE, rows, told

WORKS = RunningSession("s-far", "working", "collect the rates")
WAITS = RunningSession("s-near", "waiting", "build \x1b[31ma parser")
HERE = RunningSession("s", "working", "the blue task")


def shown(pilot: Pilot[Any]) -> str:
    return str(pilot.app.screen.query_one(Tabs).render())


async def looked(app: AlitaApp, *running: RunningSession) -> None:
    """What a look at the background finds."""
    catalog = app._catalog
    assert isinstance(catalog, Catalog)
    catalog.elsewhere = running
    await app.look_elsewhere().wait()


def test_tabs_are_shown_only_if_there_are_several() -> None:
    one, two = fold_all(told(*SIDE_BY_SIDE[:2])), fold_all(told(*SIDE_BY_SIDE))
    assert tabs_of(one, "", ()) == () and tabs_of(one, "", (HERE,)) == (), (
        "the background works on this very session"
    )
    assert [tab.name for tab in tabs_of(two, "", ())] == ["all 2 tasks", "A the red task", "B the blue task"]
    assert tabs_of(fold_all(told(*SIDE_BY_SIDE, *OVER)), "", ()) == (), "they have ended"
    names = [tab.name for tab in tabs_of(one, "", (HERE, WORKS, WAITS))]
    assert names == ["the red task", "collect the rates", "build a parser"]


def test_the_tab_key_wraps_around_and_a_mark_shows_a_waiting_tab() -> None:
    two = fold_all(told(*SIDE_BY_SIDE))
    seen, alone = [], ""
    for _ in range(3):
        tab = after(tabs_of(two, alone, (WAITS,)))
        assert tab is not None
        seen.append(tab.task_id or tab.session_id)
        alone = tab.task_id or alone
    assert seen == ["red", "blue", "s-near"]
    assert [tab.mark for tab in tabs_of(two, "", (WORKS, WAITS))][-2:] == ["●", "◈"]
    assert after(()) is None


async def test_a_key_goes_from_task_to_task_and_to_the_session_of_the_background() -> None:
    events = told(*SIDE_BY_SIDE)
    app = console(events, sink=Sink())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, len(events))
        await looked(app, WORKS)
        await pilot.pause()
        assert "all 2 tasks" in shown(pilot) and "collect the rates" in shown(pilot)
        await pilot.press("ctrl+right_square_bracket")
        await pilot.pause()
        assert "red beside" in rows(pilot) and "blue" not in rows(pilot)
        await pilot.press("ctrl+right_square_bracket")
        await pilot.pause()
        assert "blue beside" in rows(pilot) and "red" not in rows(pilot)
        await pilot.press("ctrl+right_square_bracket")
        await pilot.pause()
    assert app.return_value == Switch("s-far")


@pytest.mark.parametrize("width", [80, 120])
async def test_a_click_on_a_tab_opens_it(width: int) -> None:
    events = told(*SIDE_BY_SIDE)
    app = console(events, sink=Sink())
    async with app.run_test(size=(width, 24)) as pilot:
        await drawn(pilot, len(events))
        await looked(app, WORKS)
        await pilot.pause()
        place = shown(pilot).index("B the") + 2
        await pilot.click(Tabs, offset=(place, 0))
        await pilot.pause()
        assert "blue beside" in rows(pilot) and "red" not in rows(pilot)
        await pilot.click(Tabs, offset=(shown(pilot).index("collect"), 0))
        await pilot.pause()
    assert app.return_value == Switch("s-far")
