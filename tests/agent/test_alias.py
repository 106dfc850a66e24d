"""A build that does what a tool does already: its name becomes another one of the tool, and its code joins nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import Lock, RunReport, Twin
from alita_tui.llm.scripted import Rule
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.commands import Command, ResolveApproval, SubmitTask
from alita_tui.spine.laws import check
from alita_tui.spine.ports.sandbox import Job, Limits
from alita_tui.toolsmith.checks.neighbours import NeighboursCheck
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.toolsmith.contract import draft_from, normalise
from alita_tui.view.queries import merge_of
from tests.agent.lab import Lab, PlayedSandbox, conversation, draft, say

TASK = SubmitTask(text="make four twice as much")
BUILD = say("build_tool", "build it", name="twofold", goal="Make any whole number twofold.")
RUN = say("run_tool", name="twofold", arguments={"x": 2})
DONE = say("answer", text="eight")
OLD = normalise(draft_from(draft().requests[0].arguments))
TWIN = Twin(name=e.ToolName("double_it"), version=1, digest=e.BuildDigest(OLD.digest))


class Doubles(PlayedSandbox):
    """Answers probes as both tools would; a call as the lab's sandbox does."""

    async def run(self, job: Job, on_output: Any, progress: Any) -> RunReport:
        if job.plan is None:
            return await super().run(job, on_output, progress)
        (piece,) = job.plan.pieces
        answers = [{"result": 2 * call["x"]} for call in piece.calls]
        return RunReport(status="ok", result=[{"answers": answers}])


def lab(folder: Path) -> Lab:
    """A session whose library holds `double_it`, and whose model builds `twofold`."""
    replies = (BUILD, RUN, DONE)
    made = Lab(
        folder,
        rules=[
            Rule(role="orchestrator", match="TASK: ", replies=replies),
            Rule(role="toolsmith", match="Tool name: twofold", replies=(draft("twofold"),)),
        ],
    )
    made.sandbox = Doubles()
    if not made.shelf.cards():
        made.shelf.register(OLD, Lock(), approval_id="p0", digest=e.BuildDigest(OLD.digest), sources=())
    made.gates = (NeighboursCheck(Workbench(made.sandbox, Limits()), TaskLibrary(made.shelf)),)
    made.reopen()
    return made


def alias(**said: Any) -> Callable[[e.SessionEvent], Command | None]:
    verdict: dict[str, Any] = {"decision": "aliased", "alias_of": msgspec.to_builtins(TWIN), **said}

    def when(event: e.SessionEvent) -> Command | None:
        if not isinstance(event, e.ApprovalRequested):
            return None
        given = {"approval_id": event.approval_id, "digest": event.digest, "verdict": verdict}
        return msgspec.convert(given, ResolveApproval)

    return when


async def test_an_alias_adds_no_code_and_the_tool_runs_under_the_new_name(tmp_path: Path) -> None:
    one = lab(tmp_path)
    ended = await one.do(TASK, when=alias())
    assert ended.outcome == "answered"
    (found,) = one.events(e.GateChecked)
    assert found.result.twins == (TWIN,)
    (aliased,) = one.events(e.ToolAliased)
    assert (aliased.name, aliased.target) == ("twofold", TWIN)
    assert not one.events(e.ToolRegistered)
    assert [card.name for card in one.shelf.cards()] == ["double_it"]
    assert not (tmp_path / "box" / "twofold").exists()
    (called,) = one.events(e.ToolCalled)
    assert (called.name, called.alias, called.digest) == ("double_it", "twofold", OLD.digest)
    assert one.sandbox.jobs[-1].module == "double_it" and one.sandbox.jobs[-1].code == OLD.code
    assert one.shelf.versions("double_it")[0].runs == 1
    assert [hit.card.name for hit in one.shelf.search("make it twofold").hits] == ["double_it"]


async def test_agent_trace_and_view_name_the_tool_behind_an_alias(tmp_path: Path) -> None:
    one = lab(tmp_path)
    await one.do(TASK, when=alias())
    told = [entry.message.text for entry in conversation(one.bus.history) if entry.message.role == "tool"]
    assert any(
        "twofold is an alias of double_it v1" in text and "run_tool double_it" in text for text in told
    )
    titles = [row.title for row in one.view.trace]
    assert "twofold is now an alias of double_it v1" in titles
    assert "double_it v1, called as twofold" in titles
    assert any(title.startswith("Made another name of double_it v1 by tester") for title in titles)
    build = one.view.builds[-1]
    assert build.status == "linked" and build.verdict and build.verdict.alias_of == TWIN
    assert [card.runs for card in one.view.library] == [1]


@pytest.mark.parametrize(
    "twin",
    [
        None,
        {"name": "double_it", "version": 1, "digest": "0" * 64},
        {"name": "other", "version": 1, "digest": OLD.digest},
    ],
)
async def test_an_alias_needs_a_tool_that_a_check_found(tmp_path: Path, twin: object) -> None:
    one = lab(tmp_path)
    await one.do(TASK, when=alias(alias_of=twin))
    assert "no check found that tool" in one.events(e.BuildFailed)[0].reason
    assert not one.events(e.ToolAliased) and one.shelf.aliases.all() == ()
    assert one.view.builds[-1].status == "failed"
    assert "no tool twofold" in one.events(e.ActionFailed)[0].text


async def test_a_tool_revoked_meanwhile_gets_no_alias(tmp_path: Path) -> None:
    one = lab(tmp_path)
    verdict = alias()

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.ApprovalRequested):
            one.shelf.change_state("double_it", 1, "revoked")
        return verdict(event)

    await one.do(TASK, when=when)
    assert "double_it v1 is revoked" in one.events(e.BuildFailed)[0].reason
    assert one.shelf.aliases.all() == ()


async def test_late_repeated_and_mismatched_verdicts_change_nothing(tmp_path: Path) -> None:
    one = lab(tmp_path)
    verdict = alias()

    def when(event: e.SessionEvent) -> Command | None:
        if (command := verdict(event)) is None:
            return None
        assert isinstance(command, ResolveApproval)
        one.engine.send(msgspec.structs.replace(command, digest="0" * 64))
        one.engine.send(command)
        one.engine.send(msgspec.structs.replace(command, verdict=e.Verdict(decision="approved")))
        return command

    await one.do(TASK, when=when)
    assert [event.verdict.decision for event in one.events(e.ApprovalResolved)] == ["aliased"]
    notices = [event.text for event in one.events(e.NoticeRaised)]
    assert "names other bytes" in notices[0] and len(notices) == 3
    assert [card.name for card in one.shelf.cards()] == ["double_it"]


async def test_a_crash_after_any_event_leads_to_the_same_end(tmp_path: Path) -> None:
    whole = lab(tmp_path / "whole")
    await whole.do(TASK, when=alias())
    first = next(one.seq for one in whole.bus.history if isinstance(one.event, e.ApprovalRequested))
    last = next(one.seq for one in whole.bus.history if isinstance(one.event, e.ToolAliased))
    assert first and last
    for cut in range(first, last + 1):
        again = lab(tmp_path / str(cut))
        for one in whole.bus.history[:cut]:
            again_one = msgspec.structs.replace(one, session_id=again.file.session_id)
            await again.file.record(again_one, barrier=False)
        if cut == last:  # the registry has it before it is told
            again.shelf.alias("twofold", "Double it.", TWIN, approval_id="p2", by="tester")
        again.reopen()
        if cut == first:
            asked = whole.bus.history[cut - 1].event
            command = alias()(asked)
            assert isinstance(command, ResolveApproval)
            again.desk.leave(command.approval_id, command)
        await again.do()
        assert len(again.events(e.ToolAliased)) == 1, cut
        assert [one.name for one in again.shelf.aliases.all()] == ["twofold"], cut
        assert check(again.bus.history) == []


async def test_a_later_build_of_the_same_name_starts_from_scratch(tmp_path: Path) -> None:
    one = lab(tmp_path)
    one.shelf.alias("twofold", "Make it twofold.", TWIN, approval_id="p9", by="ada")
    one.rules[0] = Rule(role="orchestrator", match="TASK: ", replies=(BUILD, BUILD, RUN, DONE))
    one.reopen()  # the tool is shown first
    await one.do(TASK, when=alias(decision="approved", alias_of=None))
    (begun,) = one.events(e.BuildStarted)
    assert (begun.parent, begun.version) == (None, 1), "it replaces no version of another tool"
    (called,) = one.events(e.ToolCalled)
    assert (called.name, called.alias) == ("twofold", ""), "a tool's own name goes first"


async def test_a_merge_rebuilds_the_tool_with_the_work_of_the_rejected_build(tmp_path: Path) -> None:
    one = lab(tmp_path)
    anew = say("build_tool", "one tool of both", name="double_it", goal="Make any whole number twofold.")
    one.rules = [
        Rule(role="orchestrator", match="TASK: ", replies=(BUILD, anew, DONE)),
        Rule(
            role="toolsmith",
            match="takes over the work of twofold",
            replies=(draft("double_it", "Twofold, too."),),
        ),
        Rule(role="toolsmith", match="Tool name: twofold", replies=(draft("twofold"),)),
    ]
    one.reopen()
    asked: list[e.ApprovalRequested] = []

    def when(event: e.SessionEvent) -> Command | None:
        if not isinstance(event, e.ApprovalRequested):
            return None
        asked.append(event)
        reason, tags = merge_of(TWIN)
        verdict = e.Verdict(decision="rejected", reason=reason, tags=tags)
        if len(asked) == 2:
            verdict = e.Verdict(decision="approved")
        return ResolveApproval(approval_id=event.approval_id, digest=event.digest, verdict=verdict)

    await one.do(TASK, when=when)
    told = [entry.message.text for entry in conversation(one.bus.history) if entry.message.role == "tool"]
    assert any("merge: build_tool double_it anew" in text for text in told), told
    assert [build.name for build in one.view.builds] == ["twofold", "double_it"]
