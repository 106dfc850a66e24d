"""Several builds in one reply: each goes on to its verdict, whatever becomes of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.llm.scripted import Rule, ScriptReply, ScriptRequest
from alita_tui.spine.commands import CloseSession, Command
from tests.agent.lab import Lab, conversation, draft
from tests.agent.replies import DONE, TASK, verdict
from tests.agent.side_by_side import leave_verdicts

NAMES = ("double_it", "halve_it")


def build(name: str) -> ScriptRequest:
    return ScriptRequest(name="build_tool", arguments={"name": name, "goal": f"Make a tool that is {name}."})


def script(*more: ScriptRequest) -> list[Rule]:
    both = ScriptReply(requests=(*map(build, NAMES), *more))
    smiths = [
        Rule(role="toolsmith", match=f"Tool name: {name}", replies=(draft(name, marker=name),))
        for name in NAMES
    ]
    return [Rule(role="orchestrator", match="TASK: ", replies=(both, DONE)), *smiths]


async def test_with_nobody_there_both_are_made_and_wait(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=script(), parks=True)
    assert (await lab.do(TASK)).outcome == "parked"
    assert [asked.name for asked in lab.events(e.ApprovalRequested)] == [*NAMES]
    lab.file.close()
    leave_verdicts(lab, *NAMES)
    lab.reopen()
    assert (await lab.do()).outcome == "answered"
    assert [made.card.name for made in lab.events(e.ToolRegistered)] == [*NAMES]
    told = [entry.message.text for entry in conversation(lab.bus.history) if entry.name == "build_tool"]
    assert [text.split(" v1")[0] for text in told] == ["Approved: double_it", "Approved: halve_it"]


@pytest.mark.parametrize("first", NAMES)
async def test_verdicts_are_applied_one_at_a_time_and_the_other_build_still_waits(
    tmp_path: Path, first: str
) -> None:
    lab = Lab(tmp_path, rules=script(), parks=True)
    await lab.do(TASK)
    lab.file.close()
    leave_verdicts(lab, first)
    lab.reopen()
    assert (await lab.do()).outcome == "parked"
    assert [made.card.name for made in lab.events(e.ToolRegistered)] == [first]
    lab.file.close()
    leave_verdicts(lab, *NAMES)
    lab.reopen()
    assert (await lab.do()).outcome == "answered"
    assert {made.card.name for made in lab.events(e.ToolRegistered)} == {*NAMES}
    assert len(lab.events(e.ApprovalRequested)) == 2


async def test_rejecting_the_first_build_does_not_drop_the_second(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=script())
    decided: list[e.Decision] = ["rejected", "approved"]

    def decide(event: e.SessionEvent) -> object:
        return verdict(event, decided.pop(0)) if isinstance(event, e.ApprovalRequested) else None

    await lab.do(TASK, when=decide)  # type: ignore[arg-type]
    assert [made.card.name for made in lab.events(e.ToolRegistered)] == ["halve_it"]


async def test_an_action_that_may_need_a_parked_build_is_not_carried_out(tmp_path: Path) -> None:
    run = ScriptRequest(name="run_tool", arguments={"name": "double_it", "arguments": {"x": 1}})
    lab = Lab(
        tmp_path, rules=script(run, ScriptRequest(name="answer", arguments={"text": "two"})), parks=True
    )
    assert (await lab.do(TASK)).outcome == "parked"
    assert len(lab.events(e.ApprovalRequested)) == 2
    assert [one.action for one in lab.events(e.ActionChosen)] == ["build_tool", "build_tool"]


async def test_a_build_that_had_not_begun_when_the_process_ended_is_made_in_its_turn(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path, rules=script())

    def leave(event: e.SessionEvent) -> Command | None:
        return CloseSession() if isinstance(event, e.ApprovalRequested) else None

    await lab.play(TASK, when=leave)
    assert [asked.name for asked in lab.events(e.ApprovalRequested)] == ["double_it"]
    lab.file.close()
    leave_verdicts(lab, "double_it")
    lab.reopen()
    ended = await lab.do(when=lambda event: verdict(event, "approved"))
    assert ended.outcome == "answered"
    assert [made.card.name for made in lab.events(e.ToolRegistered)] == [*NAMES]
    assert len(lab.events(e.BuildStarted)) == 2
