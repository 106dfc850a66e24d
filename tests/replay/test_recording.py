from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.replay.recording import CHECKPOINT_EVERY, IDLE_CAP, Recording
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.support import streams

WALK = streams.walkthrough()
DURABLE = [envelope for envelope in WALK if envelope.durable]


def long_session(rounds: int = 90) -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    for n in range(rounds):
        tape.add(e.TaskSubmitted(task_id=e.TaskId(f"t{n}"), text=f"Task {n}"))
        tape.turn("answer", {"text": "ok"}, "Easy.")
        tape.add(e.TaskFinished(task_id=e.TaskId(f"t{n}"), outcome="answered", answer=f"Answer {n}"))
    return tape.envelopes


LONG = Recording(long_session())


@pytest.mark.parametrize("position", range(len(DURABLE) + 1))
def test_every_position_is_the_fold_of_what_came_before(position: int) -> None:
    assert Recording(WALK).view_at(position) == fold_all(DURABLE[:position])


@settings(max_examples=25)
@given(st.lists(st.integers(-5, len(LONG) + 5), min_size=1, max_size=6))
def test_seeking_in_any_order_gives_the_plain_fold(positions: list[int]) -> None:
    recording = Recording(LONG.envelopes)
    for position in positions:
        assert recording.view_at(position) == fold_all(LONG.envelopes[: max(0, position)])


def test_states_at_checkpoints_are_not_folded_again() -> None:
    assert len(LONG) > 3 * CHECKPOINT_EVERY
    recording = Recording.prepared(LONG.envelopes)
    far = len(LONG) // CHECKPOINT_EVERY * CHECKPOINT_EVERY
    assert recording.view_at(far) is recording.view_at(far), "a kept view is not folded again"
    assert recording.view_at(0) == SessionView()


def test_transient_repeated_and_disordered_events_are_ignored() -> None:
    recording = Recording([*WALK, *DURABLE[3:6]])
    assert [one.seq for one in recording.envelopes] == [one.seq for one in DURABLE]


def test_an_unreadable_record_adds_no_time() -> None:
    odd = Envelope(
        seq=DURABLE[4].seq,
        session_id=DURABLE[4].session_id,
        at=datetime.fromtimestamp(0).astimezone(),
        event=e.UnknownEvent(raw="{", reason="cut"),
    )
    recording = Recording([*DURABLE[:4], odd, *DURABLE[5:]])
    assert len(recording) == len(DURABLE)
    assert recording.gap(4) == 0
    assert recording.elapsed(len(recording)) == Recording(WALK).elapsed(len(DURABLE))
    assert all(recording.gap(n) >= 0 for n in range(len(recording)))
    assert recording.marks[4] == "error"


def test_idle_time_is_counted_beyond_the_cap() -> None:
    plain = Recording(DURABLE)
    late = Recording([*DURABLE[:5], *(_later(one, 252.0) for one in DURABLE[5:])])
    assert late.skipped(5) == plain.skipped(5) == 0
    assert late.skipped(6) == pytest.approx(late.gap(5) - IDLE_CAP)
    over = sum(max(0.0, late.gap(n) - IDLE_CAP) for n in range(len(late)))
    assert late.skipped(len(late)) == pytest.approx(over)
    assert late.elapsed(len(late)) == pytest.approx(plain.elapsed(len(plain)) + 252.0)


def _later(envelope: Envelope, seconds: float) -> Envelope:
    return msgspec.structs.replace(envelope, at=envelope.at + timedelta(seconds=seconds))


def test_marks_are_found_in_both_directions_and_by_kind() -> None:
    recording = Recording(WALK)
    asked = next(n for n, one in enumerate(DURABLE, 1) if isinstance(one.event, e.ApprovalRequested))
    assert recording.find_mark(0, {"approval"}, 1) == asked
    resolved = recording.find_mark(asked, {"approval"}, 1)
    assert resolved is not None
    assert isinstance(DURABLE[resolved - 1].event, e.ApprovalResolved)
    assert recording.find_mark(resolved, {"approval"}, -1) == asked
    assert recording.find_mark(asked, {"approval"}, -1) is None
    assert recording.find_mark(resolved, {"approval"}, 1) is None


def test_steps_are_found_in_both_directions() -> None:
    recording = Recording(WALK)
    position, seen = 0, []
    while (following := recording.find_step(position, 1)) is not None:
        position = following
        seen.append(position)
    assert seen == list(recording.steps)
    assert {DURABLE[start - 1].step for start in seen} >= set(range(1, 9))
    assert recording.find_step(position, -1) == seen[-2]
    assert recording.find_step(seen[0], -1) is None


def test_text_is_searched_as_the_trace_shows_it() -> None:
    recording = Recording(WALK)
    first = recording.find_text(0, "NO MATCHING TOOL", 1)
    assert first is not None
    assert isinstance(DURABLE[first - 1].event, e.ToolSearched)
    assert recording.find_text(first, "no matching tool", 1) is None
    assert recording.find_text(len(recording), "no matching tool", -1) == first
    assert recording.find_text(0, "ab" * 32, 1) is None, "hashes that the trace does not show are not hits"
    assert recording.find_text(0, "", 1) is None


def test_an_empty_recording_has_one_moment() -> None:
    recording = Recording([])
    assert recording.view_at(10) == replace(SessionView())
    assert recording.elapsed(3) == recording.gap(0) == recording.skipped(5) == 0
    assert recording.find_mark(0, {"error"}, 1) is recording.find_step(0, 1) is None
