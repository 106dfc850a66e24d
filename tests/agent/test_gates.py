"""What gates say and what the build makes of it: two repairs for a doubt, then the person decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.events import GateName
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.toolsmith.contract import draft_from
from alita_tui.toolsmith.prover import Prover
from tests.agent.checking import Says
from tests.agent.lab import PASS, Lab, draft, failing
from tests.agent.replies import BUILD, DONE, RUN, TASK, approve, rules


def lab(folder: Path, *smith: str, gate: Says, first: bool = False) -> Lab:
    made = Lab(folder, rules=rules(BUILD, RUN, DONE, smith=tuple(draft(marker=one) for one in smith)))
    if first:
        made.first_gates = (gate,)
    else:
        made.gates = (gate,)
    made.reopen()
    return made


def drafts(made: Lab) -> list[int]:
    return [one.attempt for one in made.events(e.BuildDrafted)]


async def test_a_check_gets_the_words_of_the_person(tmp_path: Path) -> None:
    gate = Says("literals")
    made = lab(tmp_path, "fine", gate=gate)
    ended = await made.do(TASK, when=approve)
    assert ended.outcome == "answered"
    assert gate.cases[0].task == TASK.text
    (checked,) = made.events(e.GateChecked)
    assert (checked.result.gate, checked.result.state) == ("literals", "passed")
    assert made.view.builds[-1].attempts[-1].gates == (checked.result,)


@pytest.mark.parametrize("name", ["contract", "capabilities", "literals", "mutation", "hidden"])
async def test_a_doubtful_check_causes_one_repair(tmp_path: Path, name: GateName) -> None:
    made = lab(tmp_path, "odd", "fine", gate=Says(name, "odd"))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2]
    assert [one.result.state for one in made.events(e.GateChecked)] == ["failed", "passed"]
    assert made.shelf.get("double_it").draft.code.count("fine") == 1


async def test_a_doubt_that_remains_is_left_to_the_person(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd one", "odd two", "odd three", "odd four", gate=Says("hidden", "odd"))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2, 3], "two repairs, and no more"
    assert len(made.events(e.ApprovalRequested)) == 1


async def test_a_second_repair_may_settle_a_doubt(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd one", "odd two", "fine", gate=Says("hidden", "odd"))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2, 3]
    assert "fine" in made.shelf.get("double_it").draft.code


async def test_a_model_that_insists_is_not_asked_again(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd one", "odd one", "fine", gate=Says("hidden", "odd"))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2]
    assert "odd one" in made.shelf.get("double_it").draft.code


async def test_after_repairs_that_break_it_the_earlier_draft_is_presented(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd", *(f"worse {n}" for n in range(8)), gate=Says("hidden", "odd"))
    made.sandbox.tests = [PASS, PASS, PASS, *(failing(f"quite another {'x' * n}") for n in range(4)), PASS]
    await made.do(TASK, when=approve)
    assert drafts(made)[-1] == len(drafts(made))
    (asked,) = made.events(e.ApprovalRequested)
    first, *_, last = made.events(e.BuildDrafted)
    assert asked.digest == first.digest == last.digest


@pytest.mark.parametrize("name", ["neighbours", "replay"])
async def test_findings_about_similar_tools_cause_no_repair(tmp_path: Path, name: GateName) -> None:
    made = lab(tmp_path, "odd", "fine", gate=Says(name, "odd"))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1]


async def test_a_check_that_could_not_run_is_recorded_as_skipped(tmp_path: Path) -> None:
    made = lab(tmp_path, "fine", gate=Says("hidden", blind=True))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1]
    (found,) = made.view.builds[-1].attempts[-1].gates
    assert (found.state, found.summary) == ("skipped", "no model answered")


async def test_a_contract_that_gives_no_test_causes_a_repair_before_the_person_is_asked(
    tmp_path: Path,
) -> None:
    made = lab(tmp_path, "odd", "fine", gate=Says("hidden", "odd", untestable=True))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2]
    assert made.shelf.get("double_it").draft.code.count("fine") == 1


async def test_a_contract_that_still_gives_no_test_is_not_checked_for_the_person(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd one", "odd one", gate=Says("hidden", "odd", untestable=True))
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2]
    (found,) = made.view.builds[-1].attempts[-1].gates
    assert found.state == "skipped"


async def test_a_refused_requirement_stops_a_draft_before_anything_runs(tmp_path: Path) -> None:
    made = lab(tmp_path, "odd", "fine", gate=Says("requirements", "odd"), first=True)
    await made.do(TASK, when=approve)
    assert drafts(made) == [1, 2]
    assert [one.attempt for one in made.events(e.BuildTested)] == [2]


@pytest.mark.parametrize(("name", "told"), [("hidden", 1), ("literals", 3)])
async def test_the_model_learns_one_case_of_the_hidden_tests_only(
    tmp_path: Path, name: GateName, told: int
) -> None:
    made = lab(tmp_path, "odd", gate=Says(name))
    prover = Prover(
        made.bus,
        made.sandbox,
        before=(),
        after=(Says(name, "odd"),),
        limits=Limits(),
        progress=lambda *_: None,
    )
    build = e.BuildStarted(build_id=e.BuildId("b1"), action_id="a1", name="double_it", goal="")
    proof = await prover.prove(build, 1, draft_from(draft(marker="odd").requests[0].arguments), by="m")
    assert proof.problem == "" and proof.doubt.count("where 8 was agreed on") == told
