from datetime import UTC, datetime

import pytest

from alita_tui import events as e
from alita_tui.agent import projection
from alita_tui.agent.projection import StateProjection
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.state.reduce import reduce_all
from alita_tui.state.session import SessionState
from tests.agent.lab import Lab
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules
from tests.support import streams


class Kept:
    async def record(self, envelope, *, barrier):
        return


async def test_the_projection_equals_the_reduced_history():
    history = [one for one in streams.walkthrough() if one.durable]
    bus = Bus("s", Kept(), lambda: datetime(2026, 11, 21, tzinfo=UTC))
    stands = StateProjection(bus)
    for number, envelope in enumerate(history, 1):
        bus.history.append(envelope)
        if number % 3 == 0:
            assert stands.state == reduce_all(bus.history)
    assert stands.state != SessionState()


async def test_a_whole_session_folds_each_event_once(tmp_path, monkeypatch):
    folded: list[int | None] = []

    def counted(piece, state):
        folded.extend(one.seq for one in piece)
        return reduce_all(piece, state)

    monkeypatch.setattr(projection, "reduce_all", counted)
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    await lab.do(TASK, when=approve)
    assert folded and len(folded) == len(set(folded))
    lab.file.close()


@pytest.mark.parametrize("known", [1, 1_500, 2_399, 2_400])
async def test_a_long_session_is_reduced_on_from_a_known_state(known, monkeypatch):
    history = []
    for number in range(2_400):
        notice = e.NoticeRaised(level="info", text=str(number))
        event = e.TaskSubmitted(task_id=e.TaskId(str(number)), text="go") if number % 100 == 0 else notice
        history.append(Envelope(seq=number + 1, session_id="s", at=streams.START, event=event))
    bus = Bus("s", Kept(), lambda: streams.START, history=history)
    state = reduce_all(history[:known])
    read: list[Envelope] = []

    def recorded(piece, state):
        read.extend(piece)
        return reduce_all(piece, state)

    monkeypatch.setattr(projection, "reduce_all", recorded)
    stands = StateProjection(bus, lambda: state)
    assert stands.state == reduce_all(history)
    assert read == history[known:]
