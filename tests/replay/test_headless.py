"""The final state of a recording has one hash, and another one as soon as anything shown differs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.replay.headless import play_through
from alita_tui.spine.envelope import Envelope, decode, encode
from alita_tui.view.fingerprint import fingerprint
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from tests.support.goldens import NAMES, golden, walkthrough

_AGAIN = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.support.goldens import walkthrough
from alita_tui.replay.headless import play_through
print(play_through(walkthrough()).state)
"""


def closed(envelopes: list[Envelope]) -> list[Envelope]:
    """The same with the states at its closes as this version of the view has them."""
    assert isinstance(envelopes[-1].event, e.SessionClosed)
    view, told = SessionView(), []
    for one in envelopes:
        if isinstance(one.event, e.SessionClosed):
            one = replace(one, event=e.SessionClosed(state=fingerprint(view)))
        told.append(one)
        view = fold(view, one)
    return told


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_reaches_the_state_recorded_at_the_close(name: str) -> None:
    whole = closed(golden(name))
    found = play_through([decode(encode(one)) for one in whole])
    assert found.same and found.closings
    assert found.state == found.closings[-1].recorded
    assert found.events == len(whole)


def test_a_close_without_a_state_is_reported_as_not_comparable() -> None:
    whole = closed(walkthrough())
    hasty = [*whole[:-1], replace(whole[-1], event=e.SessionClosed())]
    found = play_through(hasty)
    assert found.unrecorded == (hasty[-1].seq,) and not found.closings
    assert play_through(whole).unrecorded == ()


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    here = play_through(walkthrough()).state
    done = subprocess.run(
        [sys.executable, "-c", _AGAIN, "."], capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "1"},
    )  # fmt: skip
    assert done.stdout.strip() == here


def test_any_visible_difference_changes_the_fingerprint() -> None:
    whole = closed(walkthrough())
    state = play_through(whole).state
    for index, one in enumerate(whole):
        if isinstance(one.event, e.TaskFinished):
            changed = replace(one, event=replace(one.event, answer="another"))
        elif isinstance(one.event, e.ToolReturned):
            changed = replace(one, event=replace(one.event, report=replace(one.event.report, stdout="x")))
        elif isinstance(one.event, e.ModelReplied):
            usage = replace(one.event.usage, input_tokens=one.event.usage.input_tokens + 1)
            changed = replace(one, event=replace(one.event, usage=usage))
        else:
            continue
        found = play_through([*whole[:index], changed, *whole[index + 1 :]])
        assert not found.same, type(one.event)
        assert found.state != state


def test_a_resumed_session_is_compared_at_each_close() -> None:
    first = closed(walkthrough())
    last = first[-1]
    assert last.seq is not None
    more = [replace(last, seq=last.seq + 1, event=e.SessionResumed(restored=len(first)))]
    again = replace(
        last, seq=last.seq + 2, event=e.SessionClosed(state=fingerprint(fold_all([*first, *more])))
    )
    found = play_through([*first, *more, again])
    assert found.same and [closing.seq for closing in found.closings] == [last.seq, last.seq + 2]
    wrong = play_through([*first, *more, replace(again, event=e.SessionClosed(state="00"))])
    assert not wrong.same and [closing.same for closing in wrong.closings] == [True, False]


def test_a_state_recorded_by_another_version_is_not_compared() -> None:
    *before, last = closed(walkthrough())
    other = replace(last, event=e.SessionClosed(state="00", version="0.0.1"))
    found = play_through([*before, other])
    assert found.same and found.closings[0].foreign


def test_live_output_does_not_change_the_fingerprint() -> None:
    view = fold_all(walkthrough()[:20])
    hint = e.ModelDelta(call_id="c", role="orchestrator", channel="text", text="half a wo")
    grown = fold(view, replace(walkthrough()[20], seq=None, event=hint))
    assert grown.live.text and fingerprint(grown) == fingerprint(view)


def test_a_lone_surrogate_has_a_hash_too() -> None:
    whole = walkthrough()
    place = next(n for n, one in enumerate(whole) if isinstance(one.event, e.BuildDrafted))
    event = whole[place].event
    assert isinstance(event, e.BuildDrafted)
    draft = replace(event.draft, code=event.draft.code + "# \ud83d")
    whole[place] = replace(whole[place], event=replace(event, draft=draft))
    assert len(fingerprint(fold_all(whole))) == 66
