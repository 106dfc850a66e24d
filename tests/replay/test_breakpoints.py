"""A replay stops where a condition holds; a running session can be played back while it grows."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.replay.breakpoints import breakpoints, stopped_by
from alita_tui.replay.playback import LiveTape, Playback
from alita_tui.replay.recording import Recording
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.queries import mark
from tests.support.goldens import NAMES, golden, walkthrough

WALK = walkthrough()


def spent(*totals: float) -> list[Envelope]:
    first = WALK[0]
    found, before = [first], 0.0
    for seq, total in enumerate(totals, 2):
        event = e.BudgetSpent(call_id=f"c{seq}", cost_usd=total - before, total_usd=total)
        found.append(Envelope(seq=seq, session_id=first.session_id, at=first.at, event=event))
        before = total
    return found


def stops(envelopes: list[Envelope], text: str) -> list[int]:
    points = breakpoints(text)
    return [one.seq or 0 for one in envelopes if stopped_by(points, one)]


def test_each_breakpoint_stops_at_the_events_that_it_names() -> None:
    for kind in ("approval", "error", "build", "answer"):
        assert stops(WALK, kind) == [one.seq for one in WALK if mark(one) == kind] != []
    named = stops(WALK, "tool=validate_email_addresses")
    kinds = {type(WALK[seq - 1].event) for seq in named}
    assert kinds == {e.BuildStarted, e.ApprovalRequested, e.ToolRegistered, e.ToolCalled}
    assert stops(WALK, "tool=other") == []
    assert stops(WALK, "approval, error") == sorted(stops(WALK, "approval") + stops(WALK, "error"))


def test_a_cost_breakpoint_stops_once() -> None:
    paid = spent(0.04, 0.1, 0.11, 0.3, 0.31)
    assert stops(paid, "cost>0.10") == [4]
    assert stops(paid, "cost>$.2") == [5]
    assert stops(paid, "cost>1") == []


@pytest.mark.parametrize("text", ["nonsense", "tool=", "cost>", "cost>x", "cost<1", "error;approval"])
def test_an_invalid_breakpoint_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a breakpoint"):
        breakpoints(text)


async def test_playing_stops_at_breakpoints_and_continues() -> None:
    playback = Playback(Recording(WALK))
    playback.stop_at("approval")
    playback.faster(20)
    playback.toggle()
    seen: list[int] = []
    paused = asyncio.Event()

    async def read() -> None:
        async for envelope in playback:
            seen.append(envelope.seq or 0)
            if not playback.playing:
                paused.set()

    reader = asyncio.create_task(read())
    wanted = stops(WALK, "approval")
    for stop in wanted:
        async with asyncio.timeout(180):
            await paused.wait()
        assert (seen[-1], playback.stopped, playback.seq) == (stop, "approval", stop)
        paused.clear()
        playback.toggle()
        assert playback.stopped == ""
    playback.close()
    await reader


def test_moving_between_stops_needs_no_playing() -> None:
    playback = Playback(Recording(WALK))
    playback.stop_at("approval")
    wanted = stops(WALK, "approval")
    for stop in wanted:
        assert playback.move_break(1)
        assert playback.seq == stop
    assert not playback.move_break(1)
    assert playback.move_break(-1)
    assert playback.seq == wanted[-2]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_that_grew_equals_one_read_at_once(name: str) -> None:
    whole = golden(name)
    grown, view = LiveTape(), SessionView()
    for one in whole:
        view = fold(view, one)
        grown.add(one, view)
    at_once = Recording(whole)
    assert list(grown.envelopes) == list(at_once.envelopes) == whole
    assert (grown.marks, grown.steps) == (at_once.marks, at_once.steps)
    for position in range(0, len(whole) + 1, 7):
        assert grown.view_at(position) == at_once.view_at(position) == fold_all(whole[:position])
        assert grown.skipped(position) == at_once.skipped(position)
        assert grown.elapsed(position) == at_once.elapsed(position)


@settings(max_examples=30)
@given(st.integers(0, len(WALK)), st.integers(0, len(WALK)))
def test_a_player_keeps_its_position_while_its_tape_grows(first: int, position: int) -> None:
    tape = LiveTape(WALK[:first])
    player = tape.player()
    assert (player.position, player.total) == (first, first)
    player.seek(position)
    here = player.position
    assert not player.find("nothing like this", 1)
    for one in WALK[first:]:
        tape.add(one)
    assert (player.position, player.total) == (here, len(WALK))
    assert player.view == fold_all(WALK[:here])
    player.seek_seq(len(WALK) - 1)
    assert player.seq == len(WALK) - 1
    assert player.find("validate", -1)


def test_a_growing_view_leaves_nothing_unfinished_in_a_checkpoint() -> None:
    tape, view = LiveTape(), SessionView()
    for seq in range(1, 151):
        notice = e.NoticeRaised(level="info", text=str(seq))
        one = Envelope(seq=seq, session_id="s", at=WALK[0].at, event=notice)
        view = fold(view, one)
        hint = e.ModelDelta(call_id="c", role="orchestrator", channel="text", text="half a wo")
        view = fold(view, Envelope(seq=None, session_id="s", at=one.at, event=hint))
        tape.add(one, view)
    assert view.live.text
    assert tape.view_at(100).live.text == ""
