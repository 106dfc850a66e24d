"""A fork shares its parent's past, obeys the laws on its own, and touches nothing of the parent."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Ledger
from alita_tui.spine.errors import UsageError
from alita_tui.spine.laws import check
from alita_tui.store.forking import forked
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.view.fold import fold_all
from tests.support.goldens import FOLDER, NAMES, golden, waiting, walkthrough


def ids():
    numbers = itertools.count()
    return lambda: f"new-{next(numbers)}"


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_at_any_event_holds_the_laws(name: str) -> None:
    parent = golden(name)
    whole = fold_all(parent)
    for at in range(1, len(parent) + 1):
        made = forked(parent, at, "fork", ids())
        assert check(made) == []
        assert {one.session_id for one in made} == {"fork"}
        view, before = fold_all(made), fold_all(parent[:at])
        assert (view.state.parent, view.session_id) == (whole.session_id, "fork")
        assert (view.tasks, view.phase, view.library, view.plan, view.runs) == (
            before.tasks, before.phase, before.library, before.plan, before.runs,
        )  # fmt: skip
        assert view.spend.total_usd == before.spend.total_usd
        assert [build.status for build in view.builds] == [build.status for build in before.builds]


def test_a_waiting_build_gets_a_new_approval_in_the_fork() -> None:
    parent = waiting()
    made = forked(parent, None, "fork", ids())
    (ours,) = [build for build in fold_all(made).builds if build.status == "pending"]
    (theirs,) = [build for build in fold_all(parent).builds if build.status == "pending"]
    assert ours.approval_id == "new-0" != theirs.approval_id
    assert ours.digest == theirs.digest
    verdict = e.ApprovalResolved(
        approval_id="new-0",
        build_id=ours.build_id,
        digest=ours.digest,
        verdict=e.Verdict(decision="rejected"),
    )
    last = made[-1]
    assert last.seq is not None
    stream = [*made, type(last)(seq=last.seq + 1, session_id="fork", at=last.at, event=verdict)]
    assert check(stream) == []


def test_a_decided_build_keeps_its_approval() -> None:
    made = forked(walkthrough(), None, "fork", ids())
    decided = [one.event.approval_id for one in walkthrough() if isinstance(one.event, e.ApprovalResolved)]
    assert decided
    assert [one.event.approval_id for one in made if isinstance(one.event, e.ApprovalResolved)] == decided


def test_a_call_in_progress_belongs_to_the_parent_and_costs_the_fork_nothing() -> None:
    parent = walkthrough()[:9]
    last, at = parent[-1], 10
    asked = e.BudgetReserved(call_id="under-way", role="orchestrator", model="a:b", usd=0.5, tokens=900)
    parent.append(type(last)(seq=at, session_id=last.session_id, at=last.at, event=asked))
    made = forked(parent, at, "fork", ids())
    assert check(made) == []
    ledger = Ledger(Budget())
    for one in made:
        ledger.read(one)
    assert ledger.open == {}
    before = Ledger(Budget())
    for one in parent[:9]:
        before.read(one)
    assert ledger.session == before.session
    assert made[-1].seq == at + 1


@pytest.mark.parametrize("at", [0, -3, 100_000])
def test_a_fork_at_a_missing_event_is_refused(at: int) -> None:
    with pytest.raises(UsageError, match="no event"):
        forked(walkthrough(), at, "fork", ids())


def test_a_fork_is_listed_with_its_parent(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path)
    own = walkthrough()
    source = shelf.path(shelf.add(own[0].session_id, [one for one in own if one.durable]))
    before = source.read_bytes()
    made = shelf.fork(own[0].session_id, 12)
    again = shelf.fork(made, 5)
    assert source.read_bytes() == before
    lines = {one.session_id: one for one in shelf.list()}
    parent = walkthrough()[0].session_id
    assert (lines[made].parent, lines[made].parent_seq) == (parent, 12)
    assert (lines[again].parent, lines[again].parent_seq) == (made, 5)
    assert lines[made].state == "stopped"
    file = SessionFile.open(shelf.path(made))
    assert file.last_seq == 12 + (file.last_seq > 12)
    assert check(file.envelopes()) == []
    file.close()


def test_a_refused_fork_leaves_nothing(tmp_path: Path) -> None:
    shelf = SessionStore(tmp_path)
    with pytest.raises(UsageError):
        shelf.fork(str(FOLDER / "golden-walkthrough.json"), 10_000)
    assert list(tmp_path.iterdir()) == []
