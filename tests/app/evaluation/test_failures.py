"""Why a case was not solved: each kind from the record of a real session, told from its neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.app.evaluation.case_session import failure_of
from alita_tui.evaluation.results import FAILURE_WORDS
from alita_tui.events import RunReport
from alita_tui.llm.scripted import Rule, ScriptError, ScriptReply, ScriptRequest
from alita_tui.spine.commands import Command, ResolveApproval, SubmitTask
from alita_tui.spine.errors import SandboxUnavailable
from tests.agent.lab import Lab, draft, failing, say
from tests.agent.replies import approve, stop, verdict
from tests.agent.tool_lab import lab

TASK = SubmitTask(text="double four")
RUN = say("run_tool", name="double_it", arguments={"x": 4})
DONE = say("answer", text="as you say")
BUILD = say("build_tool", name="triple_it", goal="Triple any whole number.")
FIND = say("find_tool", query="double a whole number")
ELSEWHERE = say("find_tool", query="tomorrow's weather in a town by the sea")
OFF = RunReport(status="ok", exit_code=0, result=77)
BROKEN = RunReport(status="error", exit_code=1, error="ValueError: no column 'b'")
NO_CALL = ScriptReply(requests=(ScriptRequest(name="run_tool", raw_arguments='{"name": '),))
DOWN = ScriptReply(error=ScriptError(kind="auth", text="no such key"))
AGAIN = say("build_tool", name="triple_it", goal="Double a whole number.")


def nobody(event: e.SessionEvent) -> Command | None:
    return stop(event)


def refuse(event: e.SessionEvent) -> Command | None:
    return verdict(event, "rejected", reason="no")


@pytest.mark.parametrize(
    ("kind", "at", "replies", "runs", "when"),
    [
        ("misread task", e.TaskFinished, (say("answer", text="Paris"),), (), nobody),
        ("misread task", e.TaskFinished, (RUN, say("answer", text="Paris")), (OFF,), nobody),
        ("wrong tool", e.ToolReturned, (RUN, say("answer", text="It is 77.")), (OFF,), nobody),
        ("ungrounded answer", e.TaskFinished, (say("answer", text="It is 91.25."),), (), nobody),
        ("gap misjudged", e.ToolSearched, (ELSEWHERE, say("answer", text="Sunny")), (), nobody),
        ("gap misjudged", e.BuildStarted, (FIND, AGAIN, AGAIN, DONE), (), approve),
        ("missing tool", e.BuildFailed, (BUILD, BUILD, DONE), (), approve),
        ("approval", e.ApprovalResolved, (BUILD, BUILD, DONE), (), refuse),
        ("tool failed", e.ToolFailed, (RUN, DONE), (BROKEN,), nobody),
        ("sandbox", e.ToolFailed, (RUN, DONE), (SandboxUnavailable("no Podman"),), nobody),
        ("malformed call", e.ActionMalformed, (NO_CALL, NO_CALL, DONE), (), nobody),
        ("loop", e.TaskFinished, (RUN,) * 30, (BROKEN,) * 30, stop),
        ("provider", e.ModelFailed, (DOWN,), (), nobody),
    ],
)
async def test_each_kind_of_failure_is_read_from_the_record(
    tmp_path: Path, kind: str, at: type, replies: tuple[ScriptReply, ...], runs: tuple[Any, ...], when: Any
) -> None:
    one = lab(tmp_path, *replies)
    one.sandbox.runs = [*runs]
    if kind == "missing tool":
        one.sandbox.tests = [failing("assert 3 == 2")] * 9
        again = (draft("triple_it"),) * 6
        one.rules[-1] = Rule(role="toolsmith", match="Tool name: triple_it", replies=again)
        one.reopen()
    await one.do(TASK, when=when)
    found, seq = failure_of(tuple(one.bus.history))
    assert found == kind and kind in FAILURE_WORDS
    where = next(envelope for envelope in one.bus.history if envelope.seq == seq)
    assert isinstance(where.event, at), "it opens where it went wrong"


async def test_a_budget_and_a_question(tmp_path: Path) -> None:
    poor = Lab(
        tmp_path / "a", parks=True, rules=[Rule(role="orchestrator", match="TASK: ", replies=(FIND, DONE))]
    )
    poor.budget = Budget(task=Cap(usd=1e-9))
    poor._build()
    await poor.do(TASK, when=stop)
    assert failure_of(tuple(poor.bus.history))[0] == "budget"
    ask = say("ask_user", question="Which four?")
    asks = Lab(
        tmp_path / "b", parks=True, rules=[Rule(role="orchestrator", match="TASK: ", replies=(ask, DONE))]
    )
    await asks.do(TASK)
    assert failure_of(tuple(asks.bus.history))[0] == "question"


ASK = say("ask_user", question="Which four?")


async def test_a_question_waits_after_a_build_was_refused_in_one_case(tmp_path: Path) -> None:
    both = lab(tmp_path, BUILD, BUILD, ASK, parks=True)
    await both.do(TASK)
    _fails_at(both, "approval", e.ApprovalRequested)
    (request,) = both.events(e.ApprovalRequested)
    left = verdict(request, "rejected", reason="no")
    assert isinstance(left, ResolveApproval)
    both.desk.leave(request.approval_id, left)
    both.reopen()
    await both.do()
    assert both.events(e.ApprovalResolved)
    _fails_at(both, "question", e.QuestionAsked)


async def test_a_build_waits_after_a_question_was_answered_in_one_case(tmp_path: Path) -> None:
    both = lab(tmp_path, ASK, BUILD, BUILD, DONE, parks=True)
    await both.do(TASK)
    _fails_at(both, "question", e.QuestionAsked)
    both.given = "the first"
    both.reopen()
    await both.do()
    assert both.events(e.QuestionAnswered)
    _fails_at(both, "approval", e.ApprovalRequested)


def _fails_at(case: Lab, kind: str, at: type) -> None:
    reason, seq = failure_of(tuple(case.bus.history))
    assert reason == kind
    where = next(envelope for envelope in case.bus.history if envelope.seq == seq)
    assert isinstance(where.event, at), "it opens at what the case waits for"


async def test_a_corrected_failure_does_not_count_against_a_task(tmp_path: Path) -> None:
    """A call that failed and then went well, a wrong form that was mended: neither explains the answer."""
    one = lab(tmp_path, NO_CALL, RUN, RUN, say("answer", text="It is 77."))
    one.sandbox.runs = [BROKEN, OFF]
    await one.do(TASK, when=stop)
    assert failure_of(tuple(one.bus.history))[0] == "wrong tool"
