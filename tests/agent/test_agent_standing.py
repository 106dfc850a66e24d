from datetime import UTC, datetime

import streams
from lab import Lab
from test_agent_loop import BUILD, DONE, RUN, TASK, approve, rules

from alita_tui.agent import standing
from alita_tui.agent.standing import Standing
from alita_tui.spine.bus import Bus
from alita_tui.view.fold import fold_all
from alita_tui.view.rows import Rows


class Kept:
    async def record(self, envelope, *, barrier):
        return


async def test_it_is_what_the_fold_says_without_the_trace():
    history = [one for one in streams.walkthrough() if one.durable]
    bus = Bus("s", Kept(), lambda: datetime(2026, 11, 21, tzinfo=UTC))
    stands = Standing(bus)
    for number, envelope in enumerate(history, 1):
        bus.history.append(envelope)
        if number % 3 == 0:
            whole = fold_all(bus.history)
            view = stands.view
            assert (view.task, view.builds, view.calls, view.library, view.question, view.phase) == (
                whole.task, whole.builds, whole.calls, whole.library, whole.question, whole.phase,
            )  # fmt: skip
            assert view.trace == Rows()


async def test_a_whole_session_folds_each_event_once(tmp_path, monkeypatch):
    folded = []

    def counted(piece, view, *how):
        folded.extend(one.seq for one in piece)
        return fold_all(piece, view, *how)

    monkeypatch.setattr(standing, "fold_all", counted)
    lab = Lab(tmp_path, rules=rules(BUILD, RUN, DONE))
    await lab.do(TASK, when=approve)
    assert folded and len(folded) == len(set(folded))
    lab.file.close()
