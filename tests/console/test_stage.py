"""The stage: one message for many envelopes, and the same view from any source."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from alita_tui.console.stage import RATE, Stage
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.support import streams


class Tap:
    """A source that is fed by hand."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Envelope | None] = asyncio.Queue()

    async def __aiter__(self):
        while (envelope := await self.queue.get()) is not None:
            yield envelope


class Tape:
    """A source that has everything at once."""

    def __init__(self, envelopes: list[Envelope], error: Exception | None = None) -> None:
        self._envelopes = envelopes
        self._error = error

    async def __aiter__(self):
        for envelope in self._envelopes:
            yield envelope
        if self._error is not None:
            raise self._error


async def test_a_burst_of_events_is_drawn_a_few_times_and_completely() -> None:
    envelopes = streams.walkthrough()
    told: list[SessionView] = []
    stage = Stage(Tape(envelopes), told.append)
    await stage.run()
    assert len(told) <= 3 < len(envelopes)
    assert told[-1] == fold_all(envelopes)
    assert told[-1].live == fold_all(envelopes).live


async def test_other_work_continues_while_a_long_past_is_read() -> None:
    envelopes = [one for one in streams.walkthrough() if one.durable]
    now, turns = itertools.count(), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(other())
    stage = Stage(Tape(envelopes), id, clock=lambda: next(now) / 100)
    await stage.run()
    working.cancel()
    assert len(envelopes) // 6 < turns < len(envelopes) // 2
    assert stage.view == fold_all(envelopes)


async def test_two_redraws_are_never_closer_than_the_rate() -> None:
    envelopes = streams.walkthrough()
    loop = asyncio.get_running_loop()
    tap, times, told = Tap(), [], asyncio.Event()

    def tell(_view: SessionView) -> None:
        times.append(loop.time())
        told.set()

    stage = Stage(tap, tell)
    running = asyncio.create_task(stage.run())
    for envelope in envelopes:
        tap.queue.put_nowait(envelope)
        if envelope.durable:
            await asyncio.wait_for(told.wait(), 180)
            told.clear()
    tap.queue.put_nowait(None)
    await running
    gaps = [after - before for before, after in zip(times, times[1:], strict=False)]
    assert min(gaps[:-1]) >= 1 / RATE - 0.001
    assert stage.view == fold_all(envelopes)


async def test_nothing_is_redrawn_when_nothing_changed() -> None:
    envelopes = streams.waiting()
    told: list[SessionView] = []
    stage = Stage(Tape(envelopes), told.append)
    await stage.run()
    count = len(told)
    again = Stage(Tape([one for one in envelopes if one.durable]), told.append)
    again.view = stage.view
    await again.run()
    assert len(told) == count


async def test_live_and_replayed_views_are_equal() -> None:
    envelopes = streams.walkthrough()
    live, replayed = Stage(Tape(envelopes), id), Stage(Tape([one for one in envelopes if one.durable]), id)
    await live.run()
    await replayed.run()
    assert live.view == replayed.view


async def test_after_a_jump_new_events_are_added_to_the_view_jumped_to() -> None:
    envelopes = [one for one in streams.walkthrough() if one.durable]
    tap, told = Tap(), asyncio.Event()
    stage = Stage(tap, lambda _view: told.set())
    running = asyncio.create_task(stage.run())
    for envelope in envelopes:
        tap.queue.put_nowait(envelope)
    while stage.view.seq < len(envelopes):
        await told.wait()
        told.clear()
    early = fold_all(envelopes[:10])
    stage.jump(early)
    tap.queue.put_nowait(envelopes[10])
    tap.queue.put_nowait(None)
    await running
    assert stage.view == fold_all(envelopes[:11])


async def test_a_failing_source_is_drawn_up_to_the_failure_and_raises() -> None:
    envelopes = streams.waiting()
    told: list[SessionView] = []
    stage = Stage(Tape(envelopes, StoreError("The disk is full.")), told.append)
    with pytest.raises(StoreError):
        await stage.run()
    assert told[-1] == fold_all(envelopes)
