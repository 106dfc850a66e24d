"""A long session is opened: its end is on screen at once, and what is filled in behind moves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from textual.pilot import Pilot

from alita_tui import events as e
from alita_tui.console.app import AlitaApp
from alita_tui.console.session.loading import LONG
from alita_tui.console.session.trace import Trace
from alita_tui.spine.envelope import Envelope
from tests.benchmarks.long_sessions import realistic
from tests.console.screens import Sink, console
from tests.support import streams


def long_one() -> list[Envelope]:
    """More events than are shown at once, with builds, runs and tall answers, as a person leaves a session."""
    return list(realistic(LONG + 300))


class Held:
    """A session of which all is on record, read only as far as it is let."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        self._envelopes = envelopes
        self.allowed = asyncio.Event()
        self.stops = 50

    async def end(self, count: int) -> tuple[int, Sequence[Envelope]]:
        return len(self._envelopes), self._envelopes[-count:]

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        for number, envelope in enumerate(self._envelopes):
            if number == self.stops:
                await self.allowed.wait()
            yield envelope


def opened(envelopes: list[Envelope]) -> tuple[AlitaApp, Held]:
    app, source = console(envelopes[:1], sink=Sink()), Held(envelopes)
    app._source = app._stage._source = source
    return app, source


def screenful(app: AlitaApp) -> list[str]:
    trace = app.main.query_one(Trace)
    return [trace.render_line(y).text.rstrip() for y in range(trace.size.height)]


async def still(pilot: Pilot[object], app: AlitaApp) -> list[str]:
    """Return what is on screen once it has come to rest."""
    seen, same = screenful(app), 0
    async with asyncio.timeout(180):
        while same < 10:
            await pilot.pause(0.02)
            now = screenful(app)
            seen, same = now, same + 1 if now == seen else 0
    return seen


async def shown(pilot: Pilot[object], app: AlitaApp, *, whole: bool) -> None:
    """Wait until the end is shown, or the whole session."""
    trace = app.main.query_one(Trace)
    async with asyncio.timeout(180):
        while not len(trace._layout.rows) or whole is not (trace.share_loaded is None):
            await pilot.pause(0.01)
    await pilot.pause()


async def test_the_end_is_shown_before_the_rest_is_read_and_does_not_move() -> None:
    envelopes = long_one()
    app, source = opened(envelopes)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, app, whole=False)
        before = await still(pilot, app)
        status = str(app.main.query_one("#status").render())
        assert "opening … " in status and "its end is shown" in status
        source.allowed.set()
        await shown(pilot, app, whole=True)
        assert await still(pilot, app) == before
        trace = app.main.query_one(Trace)
        assert trace.follow
        assert len(trace._layout.rows) == len(app.main.view.trace) > 500
        assert "opening" not in str(app.main.query_one("#status").render())
        await pilot.press("f2", "home")
        await pilot.pause()
        assert any("Create a tool to validate" in line for line in screenful(app)), "the beginning is there"


@pytest.mark.parametrize(
    "keys", [("pageup", "up"), ("pageup", "pageup", "enter"), ("up", "enter", "down", "down")]
)
async def test_position_opened_cards_and_selection_are_preserved_while_loading(keys: tuple[str, ...]) -> None:
    app, source = opened(long_one())
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(pilot, app, whole=False)
        await pilot.press("f2", *keys)
        await pilot.pause()
        before = await still(pilot, app)
        source.allowed.set()
        await shown(pilot, app, whole=True)
        assert await still(pilot, app) == before


async def test_a_new_width_and_level_while_loading_apply_to_the_whole_trace() -> None:
    app, source = opened(long_one())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, app, whole=False)
        await pilot.resize_terminal(90, 30)
        await pilot.press("f2", "d")
        await pilot.pause()
        before = await still(pilot, app)
        source.allowed.set()
        await shown(pilot, app, whole=True)
        assert await still(pilot, app) == before
        assert app.main.query_one(Trace)._layout.deck.level == "everything"


async def test_a_short_session_with_a_tall_answer_is_opened_at_its_end() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="count"))
    tall = "\n\n".join(f"Paragraph {n}." for n in range(60))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer=tall))
    for n in range(5):
        tape.add(e.NoticeRaised(level="info", text=f"Notice {n}."))
    app, source = opened(tape.envelopes)
    source.stops = 3
    async with app.run_test(size=(100, 30)) as pilot:
        async with asyncio.timeout(180):
            while not app.main.query_one(Trace)._layout.width:
                await pilot.pause(0.01)
        source.allowed.set()
        async with asyncio.timeout(180):
            while app.main.view.seq < len(tape.envelopes):
                await pilot.pause(0.01)
        await pilot.pause()
        assert any("Notice 4." in line for line in screenful(app))
        assert app.main.query_one(Trace).follow
