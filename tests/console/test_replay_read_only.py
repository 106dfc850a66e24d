"""From the past nothing reaches the engine or the library: every key of every action, on every screen over a replay."""

from __future__ import annotations

import pytest

from alita_tui.console.action_table import ACTIONS
from alita_tui.console.app import AlitaApp
from alita_tui.console.library.tool import ToolScreen
from alita_tui.console.messages import CommandAsked
from alita_tui.console.replay.screen import ReplayScreen
from alita_tui.spine.commands import Interrupt, SubmitTask
from tests.console.navigating import on, replaying, running, until
from tests.console.screens import Catalog, Sink, drawn
from tests.support import goldens

LEAVING = {"ctrl+q", "ctrl+n", "ctrl+c"}
KEYS = sorted({key for one in ACTIONS for key in one.key.split(",")} - LEAVING)


class Watched(Catalog):
    """Writes down what would be done to the library."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[str] = []

    async def move(self, name, kind, version):
        self.moves.append(f"{kind} {name} v{version}")
        return await self.lineage(name)


async def back_to_tool(app: AlitaApp, pilot) -> None:
    """The tool's sheet over the past, by the keys that lead there."""
    if on(app, ToolScreen):
        return
    await back_to_past(app, pilot)
    if app._tape is not None:
        await pilot.press("f3", "enter")
    else:  # a recording begins before there is a tool
        app.open_tool("validate_email_addresses")
    await until(pilot, lambda: on(app, ToolScreen))


async def back_to_past(app: AlitaApp, pilot) -> None:
    """The replay on top again."""
    while len(app.screen_stack) > 1 and not isinstance(app.screen, ReplayScreen):
        app.pop_screen()
        await pilot.pause()
    if app._tape is not None and not isinstance(app.screen, ReplayScreen):
        await pilot.press("ctrl+y")
        await until(pilot, lambda: on(app, ReplayScreen))


@pytest.mark.parametrize("where", [back_to_past, back_to_tool], ids=["replay", "tool"])
@pytest.mark.parametrize("rewound", [True, False], ids=["rewound", "recording"])
async def test_no_key_reaches_the_engine_or_the_library(
    where, rewound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, sink, watched = goldens.walkthrough(), Sink(), Watched()
    app = running(whole, sink)[0] if rewound else replaying(whole)[0]
    app._catalog = watched
    left: list[object] = []
    monkeypatch.setattr(app, "exit", lambda *result, **_: left.append(result))
    async with app.run_test(size=(120, 36)) as pilot:
        if rewound:
            await drawn(pilot, len(whole))
        for key in KEYS if rewound and where is back_to_past else KEYS[::3]:
            await where(app, pilot)
            await pilot.press(key)
            await pilot.pause()
            await pilot.press("enter")  # some ask once more
            await pilot.pause()
            assert (sink.commands, watched.moves) == ([], []), key


async def test_a_screen_over_the_past_changes_nothing_and_the_present_still_can() -> None:
    whole, sink, watched = goldens.walkthrough(), Sink(), Watched()
    app, _, _ = running(whole, sink)
    app._catalog = watched
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, len(whole))
        await back_to_tool(app, pilot)
        app.screen.post_message(ToolScreen.MoveAsked("validate_email_addresses", 1, "revoke"))
        app.screen.post_message(CommandAsked(Interrupt()))
        await pilot.pause()
        assert (sink.commands, watched.moves) == ([], [])
        await back_to_past(app, pilot)
        app.pop_screen()
        await until(pilot, lambda: app.screen is app.main)
        app.main.post_message(CommandAsked(SubmitTask(text="now")))
        await until(pilot, lambda: sink.commands == [SubmitTask(text="now")])
