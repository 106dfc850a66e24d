"""One build's own cap: what it ends, what it leaves to the person, and that it holds across processes."""

from __future__ import annotations

from pathlib import Path

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap, Ledger
from alita_tui.console.review.evidence import why
from alita_tui.llm.cache import ReplyStore
from alita_tui.llm.scripted import Rule
from alita_tui.spine.ports.models import ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.agent.checking import Says
from tests.agent.lab import Lab, conversation, draft, failing, say
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules
from tests.support.streams import Tape

CALL = 0.01
"""What each call costs in the lab."""


def lab(folder: Path, *smith: str, usd: float | None, **caps: Cap) -> Lab:
    made = Lab(folder, rules=rules(BUILD, RUN, DONE, smith=tuple(draft(marker=one) for one in smith)))
    made.budget = Budget(build_usd=usd, **caps)
    return made


def paid(made: Lab, role: str) -> list[e.BudgetSpent]:
    return [one for one in made.events(e.BudgetSpent) if one.role == role]


async def test_a_build_without_a_passing_draft_ends_with_the_reason_and_the_task_continues(
    tmp_path: Path,
) -> None:
    made = lab(tmp_path, "odd", "fine", usd=1.5 * CALL)
    made.sandbox.tests = [failing("assert 3 == 4")]
    made.reopen()
    ended = await made.do(TASK, when=approve)
    assert ended.outcome == "answered"
    (failed,) = made.events(e.BuildFailed)
    assert failed.reason.startswith("the build's money was spent: $0.0100 of $0.0150")
    assert len(paid(made, "toolsmith")) == 1 and not made.events(e.QuestionAsked)
    told = [entry.message.text for entry in conversation(made.bus.history) if entry.message.is_error]
    assert told[0].startswith("The build failed: the build's money was spent")


async def test_a_draft_that_only_one_check_doubts_is_left_to_the_person(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd", "fine", usd=1.5 * CALL)
    made.gates = (Says("literals", "odd"),)
    made.reopen()
    await made.do(TASK, when=approve)
    (asked,) = made.events(e.ApprovalRequested)
    assert {one.digest for one in made.events(e.BuildDrafted)} == {asked.digest}
    assert [card.digest for card in made.shelf.cards()] == [asked.digest]


async def test_a_check_over_budget_counts_as_not_run_and_the_person_decides(tmp_path: Path) -> None:
    cases = [{"arguments": {"x": n}, "expect": 2 * n} for n in range(4)]
    made = lab(tmp_path, "fine", usd=2.5 * CALL)
    made.rules.append(Rule(role="reviewer", match="CONTRACT", replies=(say("submit_cases", cases=cases),)))
    made.asking = lambda asker: (HiddenTestsCheck(Workbench(made.sandbox, Limits()), asker),)
    made.reopen()
    ended = await made.do(TASK, when=approve)
    assert ended.outcome == "answered"
    (found,) = made.events(e.GateChecked)
    assert found.result.state == "skipped"
    assert found.result.summary.startswith("the build's money was spent: $0.0200 of $0.0250")
    assert len(paid(made, "toolsmith")) == len(paid(made, "reviewer")) == 1
    (build,) = made.view.builds
    assert build.cost == "$0.0200 of $0.0250"
    assert build.current is not None
    assert "cost so far" in "\n".join(map(str, why(build, build.current)))


async def test_calls_of_the_agent_and_of_other_builds_do_not_count_for_a_build(tmp_path: Path) -> None:
    other = say("build_tool", "build another", name="double_it", goal="Double any whole number again.")
    made = lab(tmp_path, "one", "two", usd=1.5 * CALL)
    made.rules[0] = Rule(role="orchestrator", match="TASK: ", replies=(BUILD, other, DONE))
    made.reopen()
    await made.do(TASK, when=approve)
    assert [round(build.spent_usd, 4) for build in made.view.builds] == [CALL, CALL]
    assert not made.events(e.BuildFailed)
    assert all(one.build_id == "" for one in paid(made, "orchestrator"))
    assert [share.name for share in made.view.spend.by_tool] == ["double_it"]


async def test_a_build_without_a_cap_is_limited_by_the_other_caps_only(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd", "fine", usd=None)
    made.sandbox.tests = [failing("assert 3 == 4")]
    made.reopen()
    await made.do(TASK, when=approve)
    assert [card.name for card in made.shelf.cards()] == ["double_it"]
    assert made.view.builds[-1].cost == "$0.0200"


def test_the_cost_of_a_build_is_read_from_the_record_including_open_calls() -> None:
    ledger, tape = Ledger(Budget(build_usd=0.05)), Tape()
    spent = e.BudgetSpent(call_id="c1", cost_usd=0.02, role="toolsmith", build_id="b1", tokens=10)
    reserved = e.BudgetReserved(call_id="c2", role="reviewer", model="m", usd=0.02, tokens=9, build_id="b1")
    for event in (spent, reserved):
        ledger.read(tape.add(event))
    assert "$0.0400 of $0.0500" in ledger.build_breach("b1", 0.02)
    assert ledger.build_breach("b1", 0.01) == ledger.build_breach("b2", 0.05) == ""
    assert ledger.build_breach("", 9.0) == ledger.build_breach("b1", None) == ""


def test_the_reply_cache_ignores_which_build_asks(tmp_path: Path) -> None:
    table = DocumentTable(tmp_path / "replies.json", "replies")
    one, other = (
        ModelRequest(role="toolsmith", system="s", messages=(), build=name) for name in ("b1", "b2")
    )
    ReplyStore(lambda: table).put("p:m", one, Reply(model="p:m", text="said"))
    found = ReplyStore(lambda: table).get("p:m", other)
    table.close()
    assert found is not None and found.text == "said"
