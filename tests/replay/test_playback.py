from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.replay.playback import SPEEDS, Playback
from alita_tui.replay.recording import IDLE_CAP, Recording
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from tests.support import streams

WALK = [envelope for envelope in streams.walkthrough() if envelope.durable]


class HandTicker:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []
        self._due: asyncio.Event | None = None

    def now(self) -> float:
        return self.time

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        self.waits.append(seconds)
        self._due = due = asyncio.Event()
        until = self.time + seconds
        while not wake.is_set() and self.time < until:
            due.clear()
            waiting = [asyncio.ensure_future(wake.wait()), asyncio.ensure_future(due.wait())]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waiting:
                    one.cancel()

    def advance(self, seconds: float) -> None:
        self.time += seconds
        if self._due:
            self._due.set()


class Reader:
    """Folds a source as the stage does."""

    def __init__(self, playback: Playback) -> None:
        self.playback = playback
        self.view = SessionView()
        self.seen: list[int] = []
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for envelope in self.playback:
            self.view = fold(self.view, envelope)
            assert envelope.seq is not None
            self.seen.append(envelope.seq)

    def jump(self) -> None:
        self.view = self.playback.view


@pytest.fixture
async def desk() -> AsyncIterator[tuple[Playback, HandTicker, Reader]]:
    ticker = HandTicker()
    playback = Playback(Recording(_with_pause(WALK)), ticker)
    reader = Reader(playback)
    yield playback, ticker, reader
    playback.close()
    await reader.task


def _with_pause(envelopes: list[Envelope], at: int = 4, seconds: float = 300.0) -> list[Envelope]:
    return [
        msgspec.structs.replace(one, at=one.at + timedelta(seconds=seconds if n >= at else 0))
        for n, one in enumerate(envelopes)
    ]


async def settle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


Desk = tuple[Playback, HandTicker, Reader]


async def test_a_paused_playback_emits_nothing_and_sets_no_timer(desk: Desk) -> None:
    playback, ticker, reader = desk
    await settle()
    ticker.advance(1000)
    await settle()
    assert reader.seen == []
    assert ticker.waits == [], "a paused player does not poll"
    assert not playback.playing


async def test_playback_follows_recorded_time(desk: Desk) -> None:
    playback, ticker, reader = desk
    playback.toggle()
    await settle()
    assert reader.seen == [1], "the first event waits for nothing"
    gap = playback.recording.gap(1)
    ticker.advance(gap * 0.9)
    await settle()
    assert reader.seen == [1]
    ticker.advance(gap * 0.2)
    await settle()
    assert reader.seen == [1, 2]


async def test_a_long_pause_is_shortened_and_reported(desk: Desk) -> None:
    playback, ticker, reader = desk
    playback.seek(4)
    reader.jump()
    playback.toggle()
    await settle()
    assert ticker.waits[-1] == IDLE_CAP
    assert playback.skipped == 0
    ticker.advance(IDLE_CAP)
    await settle()
    assert reader.seen == [5]
    assert playback.skipped == pytest.approx(playback.recording.gap(4) - IDLE_CAP)


@pytest.mark.parametrize("speed", [0.25, 4.0, 64.0])
async def test_the_playback_speed_scales_the_wait(desk: Desk, speed: float) -> None:
    playback, ticker, _reader = desk
    playback.faster(SPEEDS.index(speed) - SPEEDS.index(playback.speed))
    playback.seek(1)
    playback.toggle()
    await settle()
    assert ticker.waits[-1] == pytest.approx(playback.recording.gap(1) / speed)


async def test_a_change_of_speed_applies_to_the_rest_of_a_gap(desk: Desk) -> None:
    playback, ticker, _reader = desk
    playback.seek(4)
    playback.toggle()
    await settle()
    ticker.advance(1.0)
    playback.faster()
    await settle()
    assert ticker.waits == [IDLE_CAP, pytest.approx((IDLE_CAP - 1.0) / 2)]


async def test_without_a_limit_playback_runs_to_the_end_and_stays_there(desk: Desk) -> None:
    playback, ticker, reader = desk
    playback.faster(99)
    assert playback.speed == float("inf")
    playback.toggle()
    while playback.playing:
        await asyncio.sleep(0)
    assert reader.seen == [one.seq for one in WALK]
    assert ticker.waits == []
    assert not reader.task.done(), "one can seek back from the end"
    playback.toggle()
    reader.jump()
    await settle()
    assert reader.seen[len(WALK)] == 1, "playing at the end begins anew"


async def test_a_seek_keeps_the_play_state(desk: Desk) -> None:
    playback, _ticker, _reader = desk
    playback.seek_tenth(5)
    assert (playback.playing, playback.position) == (False, round(len(WALK) / 2))
    playback.toggle()
    playback.move(-1000)
    assert playback.playing
    assert playback.position == 0


async def test_seeking_back_during_a_gap_starts_it_afresh(desk: Desk) -> None:
    playback, ticker, _reader = desk
    playback.seek(4)
    playback.toggle()
    await settle()
    ticker.advance(1.9)
    playback.seek(4)
    await settle()
    assert ticker.waits[-1] == IDLE_CAP


async def test_controls_report_when_there_is_nothing_further(desk: Desk) -> None:
    playback, _ticker, _reader = desk
    assert not playback.move_mark({"error"}, 1), "nothing failed in this session"
    assert playback.move_mark({"build", "approval", "error"}, 1)
    assert playback.marks[playback.position - 1] == "build"
    assert playback.find("is ready for your review", 1)
    here = playback.position
    assert not playback.find("is ready for your review", 1)
    assert playback.position == here
    assert playback.move_step(1)
    assert playback.move_step(-1)


async def test_cancelling_the_reader_returns_at_once(desk: Desk) -> None:
    playback, _ticker, reader = desk
    playback.seek(4)
    playback.toggle()
    await settle()
    reader.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader.task
    reader.task = asyncio.create_task(reader._read())


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("tsfbmejw"), st.integers(0, 50)), max_size=25))
def test_after_any_controls_the_reader_shows_the_folded_view(moves: list[tuple[str, int]]) -> None:
    """A seek's view may be handed over late: it still fits what the source yields next."""

    async def go() -> None:
        ticker = HandTicker()
        playback = Playback(Recording(WALK), ticker)
        reader = Reader(playback)
        late = False
        for key, number in moves:
            match key:
                case "t":
                    late |= not playback.playing and playback.position == playback.total
                    playback.toggle()
                case "s":
                    playback.seek(number)
                    late = True
                case "f":
                    playback.faster(number % 5 - 2)
                case "b":
                    playback.move(-1)
                    late = True
                case "m":
                    late |= playback.move_mark({"build", "approval", "error"}, 1 if number % 2 else -1)
                case "e":
                    late |= playback.move_step(1 if number % 2 else -1)
                case "j" if late:
                    reader.jump()
                    late = False
                case _:
                    ticker.advance(number / 5)
                    await settle()
        if late:
            reader.jump()
        assert reader.view == fold_all(WALK[: playback.position])
        playback.close()
        await reader.task

    asyncio.run(go())
