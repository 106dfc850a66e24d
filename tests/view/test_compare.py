"""Two sessions side by side: what is the same is said to be, and what differs is found."""

from __future__ import annotations

import msgspec

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.store.forking import forked
from alita_tui.view.compare import compare
from tests.support.goldens import golden, waiting, walkthrough


def rejected_fork() -> list[Envelope]:
    """The walk through, forked where the build waits, and rejected there."""
    made = forked(waiting(), None, "fork", lambda: "own-approval")
    asked = next(one.event for one in reversed(made) if isinstance(one.event, e.ApprovalRequested))
    last = made[-1]
    assert last.seq is not None
    events = (
        e.ApprovalResolved(
            approval_id="own-approval",
            build_id=asked.build_id,
            digest=asked.digest,
            verdict=e.Verdict(decision="rejected", reason="no"),
        ),
        e.TaskFinished(task_id="t", outcome="rejected", reason="You rejected it."),
    )
    made += [msgspec.structs.replace(last, seq=last.seq + n, event=one) for n, one in enumerate(events, 1)]
    return made


def test_a_session_is_like_itself() -> None:
    found = compare(walkthrough(), walkthrough())
    assert found.left == found.right
    assert found.common == len(walkthrough())
    assert {pair.kind for pair in found.moves} == {"same"}


def test_a_fork_shares_its_past_and_differs_from_there() -> None:
    found = compare(walkthrough(), rejected_fork())
    assert found.common == len(waiting())
    kinds = [pair.kind for pair in found.moves]
    first = next(n for n, kind in enumerate(kinds) if kind != "same")
    assert "same" not in kinds[first:]
    assert found.moves[first].left.startswith("Approved") and found.moves[first].right.startswith("Rejected")
    assert found.left.built and not found.right.built
    assert found.left.used and not found.right.used
    assert (found.left.outcome, found.left.errors < found.right.errors) == ("answered", True)
    assert found.left.steps > found.right.steps
    assert found.left.answer


def test_the_figures_are_the_sessions_own() -> None:
    whole = golden("golden-build-openai")
    side = compare(whole, []).left
    assert side.steps == sum(isinstance(one.event, e.ActionChosen) for one in whole)
    assert sum(times for _name, times in side.used) == sum(
        isinstance(one.event, e.ToolCalled) for one in whole
    )
    assert side.tokens == sum(
        one.event.usage.input_tokens + one.event.usage.output_tokens
        for one in whole
        if isinstance(one.event, e.ModelReplied)
    )


def test_one_side_may_be_empty() -> None:
    found = compare([], walkthrough())
    assert found.common == 0
    assert {pair.kind for pair in found.moves} == {"right"}
    assert found.left.title == ""
