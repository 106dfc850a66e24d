"""Two sessions side by side: what is the same is said to be, and what differs is found."""

from __future__ import annotations

import msgspec

from alita_tui import events as e
from alita_tui.console.sessions.compare import rows
from alita_tui.spine.envelope import Envelope
from alita_tui.store.forking import forked
from alita_tui.view.compare import compare, cost_of
from alita_tui.view.fold import fold_all
from alita_tui.view.spend import tokens_of, total_of
from tests.support import streams
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
        e.TaskFinished(task_id=e.TaskId("t"), outcome="rejected", reason="You rejected it."),
    )
    made += [msgspec.structs.replace(last, seq=last.seq + n, event=one) for n, one in enumerate(events, 1)]
    return made


def test_a_session_equals_itself() -> None:
    found = compare(walkthrough(), walkthrough())
    assert found.left == found.right
    assert found.common == len(walkthrough())
    assert {pair.kind for pair in found.moves} == {"same"}


def test_a_fork_shares_its_past_and_differs_afterwards() -> None:
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


def test_the_figures_agree_with_the_session() -> None:
    whole = golden("golden-build-openai")
    side = compare(whole, []).left
    assert side.steps == sum(isinstance(one.event, e.ActionChosen) for one in whole)
    assert sum(times for _name, times in side.used) == sum(
        isinstance(one.event, e.ToolCalled) for one in whole
    )
    assert side.tokens == sum(one.event.tokens for one in whole if isinstance(one.event, e.BudgetSpent))


def test_tokens_and_calls_are_those_of_the_spend_screen_and_marked_where_they_are_estimated() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="sum it"))
    # The provider reports no counts: the bound that was settled is above what the reply's own text counts.
    usage = e.Usage(input_tokens=3_000, output_tokens=500, reported=False)
    tape.add(e.ModelReplied(call_id="m1", role="orchestrator", model="p:b", usage=usage))
    tape.add(
        e.BudgetSpent(
            call_id="m1", cost_usd=0.2, role="orchestrator", model="p:b", tokens=9_400, estimated=True, total_usd=0.2
        )
    )  # fmt: skip
    tape.add(e.BudgetSpent(call_id="m2", cost_usd=0.0, role="orchestrator", model="p:b", total_usd=0.2))
    estimated, tape = tape.envelopes, streams.Tape()
    streams.opened(tape)
    tape.add(e.BudgetSpent(call_id="m1", cost_usd=0.1, role="orchestrator", model="p:a", tokens=120))
    reported = tape.envelopes
    found = compare(estimated, reported)
    total = total_of(fold_all(estimated).spend)
    assert total == f"{tokens_of(found.left)}, {found.left.calls} calls" == "~9,400, 2 calls"
    assert tokens_of(found.right) == total_of(fold_all(reported).spend).split(",")[0] == "120"
    sheet = "\n".join("".join(text for text, _ in row.body) for row in rows(found, 116))
    assert "2, ~9,400 tokens" in sheet and "~9,400" not in sheet.replace("2, ~9,400 tokens", "")
    assert sheet.count("~ is estimated, on the high side: the provider reported no counts.") == 1
    assert "estimated" not in "".join(
        text for row in rows(compare(reported, reported), 116) for text, _ in row.body
    )


def test_a_sum_with_an_assumed_price_is_marked_approximate() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(
        e.BudgetSpent(
            call_id="m1", cost_usd=None, assumed_usd=0.2, role="orchestrator", model="p:b", tokens=20_000,
            total_usd=0.2, unpriced_calls=1,
        )
    )  # fmt: skip
    assert cost_of(compare(tape.envelopes, []).left) == "about $0.20, 1 call without a known price"
    nothing_assumed = cost_of(compare(golden("golden-build-openai"), []).left)
    assert nothing_assumed == "$0.00, 10 calls without a known price"


def test_one_side_may_be_empty() -> None:
    found = compare([], walkthrough())
    assert found.common == 0
    assert {pair.kind for pair in found.moves} == {"right"}
    assert found.left.title == ""
