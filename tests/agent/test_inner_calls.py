"""A tool calls another one: what was granted, while it was granted, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import Json, RunReport, ToolRecord
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import Command, Interrupt, SubmitTask
from alita_tui.spine.errors import CallRefused, SandboxUnavailable
from alita_tui.spine.grants import MOST_TOOL_CALLS
from alita_tui.spine.laws import check
from alita_tui.spine.ports.sandbox import Job
from tests.agent.lab import Lab, conversation, say
from tests.support.calling import CALLS, TAKES_X, a_tool, approved, pin, pinned_to

TASK = SubmitTask(text="sum it up")
RUN = say("run_tool", name="outer", arguments={})
OK = RunReport(status="ok", exit_code=0, result=8)


def make(folder: Path, *replies: Any, **more: Any) -> Lab:
    answers = replies or (RUN, say("answer", text="done"))
    return Lab(folder, rules=[Rule(role="orchestrator", match="TASK: ", replies=answers)], **more)


def put(lab: Lab, name: str, *tools: str, **more: Any) -> ToolRecord:
    return approved(lab.shelf, a_tool(name, CALLS if tools else more.pop("code", CALLS), tools=tools, **more))


class Said:
    """What the tools' calls gave, in order."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.answers: list[Json] = []

    def run(self, *calls: tuple[str, Json]) -> Callable[[Job], Awaitable[RunReport]]:
        """Return a run that makes these calls one after the other, and returns the last result."""

        async def outer(job: Job) -> RunReport:
            for name, arguments in calls:
                try:
                    self.answers.append(await self.lab.engine.inner_calls.call(job.run_id, name, arguments))
                except CallRefused as refused:
                    self.answers.append((refused.status, refused.message))
            return RunReport(status="ok", exit_code=0, result=self.answers[-1])

        return outer


async def refusal(lab: Lab, name: str, arguments: Json | None = None) -> tuple[int, str]:
    """Run `outer`, which calls a tool once; return why that is refused. The tool that is called must not run."""
    said = Said(lab)
    lab.sandbox.runs = [said.run((name, {} if arguments is None else arguments))]
    await lab.do(TASK)
    assert [job.module for job in lab.sandbox.jobs] == ["outer"]
    assert [called.name for called in lab.events(e.ToolCalled)] == ["outer"]
    status, why = said.answers[0]
    return status, why


async def test_a_nested_call_runs_in_its_own_container_and_is_recorded_within_its_caller(
    tmp_path: Path,
) -> None:
    lab = make(tmp_path)
    inner = put(lab, "inner", schema=TAKES_X, workspace="read")
    outer = put(lab, "outer", pin(inner), network=("GET a.example:443",))
    said = Said(lab)
    lab.sandbox.runs = [said.run(("inner", {"x": 4})), OK]
    assert (await lab.do(TASK)).outcome == "answered"
    assert said.answers == [8]
    first, second = lab.sandbox.jobs
    assert (second.module, second.arguments, second.digest) == ("inner", {"x": 4}, inner.digest)
    assert second.capabilities == inner.granted and not second.inputs and second.scratch is None
    calls = [one for one in lab.bus.history if isinstance(one.event, e.ToolCalled)]
    assert [(one.span, one.parent) for one in calls][1] == (second.run_id, first.run_id)
    assert {one.task_id for one in calls} == {calls[0].task_id} and calls[0].task_id
    called = calls[1].event
    assert isinstance(called, e.ToolCalled)
    assert (called.caller, called.depth, called.digest) == (first.run_id, 1, inner.digest)
    ends = [event.call_id for event in lab.events(e.ToolReturned)]
    assert ends == [second.run_id, first.run_id]
    assert {card.name: card.runs for card in lab.shelf.cards()} == {"inner": 1, "outer": 1}
    assert {card.name: card.runs for card in lab.view.state.library} == {"inner": 1, "outer": 1}
    assert outer.draft.capabilities.tools == lab.events(e.ToolCalled)[0].tools


async def test_an_inner_call_is_nested_in_the_trace_and_hidden_from_the_model(tmp_path: Path) -> None:
    lab = make(tmp_path)
    inner = put(lab, "inner", schema=TAKES_X)
    put(lab, "outer", pin(inner))
    hidden = "four\u202ework\u2066 done"
    inner_result = RunReport(status="ok", exit_code=0, result=f"inner-words {hidden}")
    lab.sandbox.runs = [_then_sum(lab, hidden), inner_result]
    await lab.do(TASK)
    rows = [row for row in lab.view.trace if row.kind in ("run", "observation")]
    assert [row.title.split(" ")[0] for row in rows] == ["outer", "↳", "↳", "7"]
    assert not any(sign in row.title + row.detail for row in rows for sign in "\u202e\u2066")
    shown = "\n".join(entry.message.text for entry in conversation(lab.bus.history))
    assert "result (e" in shown and "7" in shown and "inner-words" not in shown


def _then_sum(lab: Lab, hidden: str) -> Callable[[Job], Awaitable[RunReport]]:
    async def outer(job: Job) -> RunReport:
        text = await lab.engine.inner_calls.call(job.run_id, "inner", {"x": 4})
        assert text == f"inner-words {hidden}", "the caller gets it as it is"
        return RunReport(status="ok", exit_code=0, result=7)

    return outer


async def test_a_name_that_was_not_granted_is_refused(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "other")
    put(lab, "outer", pin(put(lab, "inner")))
    for name in ("other", "outer", "inner@1", "", "../inner", "nothing"):
        lab.sandbox.jobs.clear()
        status, why = await refusal(make_again(lab), name)
        assert status == 403 and "not granted" in why


def make_again(lab: Lab) -> Lab:
    lab.file.close()
    folder = lab.folder / f"again{len(list(lab.folder.iterdir()))}"
    again = make(folder)
    again.shelf = lab.shelf
    again._build()
    return again


async def test_other_bytes_than_were_granted_are_refused(tmp_path: Path) -> None:
    lab = make(tmp_path)
    inner = put(lab, "inner")
    put(lab, "outer", pin(inner, digest="ab" * 32))
    assert await refusal(lab, "inner") == (
        403,
        "inner v1 may not be called: its bytes are not those that were granted",
    )


async def test_bytes_that_were_edited_on_disk_are_refused(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    (tmp_path / "box" / "inner" / "v1" / "inner.py").write_text("def run(): return 'mine'\n")
    status, why = await refusal(lab, "inner")
    assert status == 403 and "not the ones that were approved" in why


@pytest.mark.parametrize("state", ["revoked", "archived", "quarantined"])
async def test_a_tool_revoked_after_the_grant_is_refused(tmp_path: Path, state: e.ToolState) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    lab.shelf.change_state("inner", 1, state)
    status, why = await refusal(lab, "inner")
    assert status == 403 and f"inner v1 is {state}" in why


async def test_the_granted_version_runs_although_there_is_a_newer_one(tmp_path: Path) -> None:
    lab = make(tmp_path)
    first = put(lab, "inner", schema=TAKES_X)
    put(lab, "outer", pin(first))
    put(lab, "inner", schema=TAKES_X, model_calls=9)
    lab.sandbox.runs = [Said(lab).run(("inner", {"x": 1})), OK]
    await lab.do(TASK)
    assert lab.sandbox.jobs[1].digest == first.digest and lab.sandbox.jobs[1].capabilities.none


async def test_a_tool_with_more_grants_than_were_shown_is_refused(tmp_path: Path) -> None:
    lab = make(tmp_path)
    inner = put(lab, "inner", network=("a.example:443",), workspace="read")
    put(lab, "outer", pin(inner, may=("network:a.example:443",)))
    status, why = await refusal(lab, "inner")
    assert status == 403 and "more than was granted (workspace:read)" in why


async def test_a_tool_approved_for_one_task_cannot_be_called_by_another(tmp_path: Path) -> None:
    lab = make(tmp_path)
    lent = a_tool("inner")
    digest = e.build_digest(lent, e.Lock())
    put(lab, "outer", pinned_to("inner", 1, digest))
    lab.engine._shelf.lend(lent, e.Lock(), version=1, approval_id="t", digest=digest)
    status, why = await refusal(lab, "inner")
    assert status == 403 and "one task alone" in why


async def test_calls_are_nested_up_to_a_limit(tmp_path: Path) -> None:
    lab = make(tmp_path)
    names = ["d4", "d3", "d2", "d1"]
    known = put(lab, "d5")
    for name in (*names, "outer"):
        known = put(lab, name, pin(known))
    said = Said(lab)
    order = ["outer", *reversed(names), "d5"]
    lab.sandbox.runs = [said.run((name, {})) for name in order[1:]]
    await lab.do(TASK)
    assert [job.module for job in lab.sandbox.jobs] == ["outer", "d1", "d2", "d3"]
    assert said.answers[0] == (508, "d4 is not called: calls may be 3 deep")
    assert [called.depth for called in lab.events(e.ToolCalled)] == [0, 1, 2, 3]


async def test_a_tool_that_waits_for_a_call_cannot_be_called_by_it(tmp_path: Path) -> None:
    lab = make(tmp_path)
    inner = put(lab, "inner")
    outer = put(lab, "outer", pin(inner))
    said = Said(lab)
    # No two approved digests name each other; a library that says so is forged.
    forged = msgspec.structs.replace(inner, grants=e.Capabilities(tools=(pin(outer, may=()),)))
    asking = msgspec.structs.replace(outer, grants=e.Capabilities(tools=(pin(forged),)))
    lab.shelf.get = lambda name, version=None: forged if name == "inner" else asking  # type: ignore[method-assign]
    lab.sandbox.runs = [said.run(("inner", {})), said.run(("outer", {}))]
    await lab.do(TASK)
    assert said.answers[0] == (508, "outer is not called: it waits for this very call")
    assert [job.module for job in lab.sandbox.jobs] == ["outer", "inner"]


async def test_all_calls_below_a_run_are_counted_together(tmp_path: Path) -> None:
    lab = make(tmp_path)
    leaf = put(lab, "leaf")
    middle = put(lab, "middle", pin(leaf))
    put(lab, "outer", pin(leaf), pin(middle))
    said = Said(lab)
    below = MOST_TOOL_CALLS - 2
    lab.sandbox.runs = [
        said.run(("middle", {}), ("leaf", {}), ("leaf", {})),
        said.run(*(("leaf", {}),) * below),
        *(OK,) * (MOST_TOOL_CALLS + 5),
    ]
    await lab.do(TASK)
    assert len(lab.events(e.ToolCalled)) == 1 + MOST_TOOL_CALLS
    assert said.answers[-1] == (429, "20 calls of tools may be made in a run")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x": "four"}, "x"),
        ({}, "x is missing"),
        ({"x": 1, "y": 2}, "y is none of its parameters"),
        ({"x": {"$ref": "art_0000#/0"}}, "x"),
    ],
)
async def test_arguments_are_checked_on_the_host_and_refer_to_nothing(
    tmp_path: Path, arguments: Json, said: str
) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner", schema=TAKES_X)))
    status, why = await refusal(lab, "inner", arguments)
    assert status == 400 and said in why


async def test_a_reference_is_plain_data_where_the_schema_takes_anything(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    lab.sandbox.runs = [Said(lab).run(("inner", {"x": {"$ref": "e1"}})), OK]
    await lab.do(TASK)
    assert lab.sandbox.jobs[1].arguments == {"x": {"$ref": "e1"}}


async def test_a_failure_is_reported_recorded_and_counted_for_the_tool_that_failed(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    said = Said(lab)
    broke = RunReport(status="error", exception="KeyError", error="Traceback\nKeyError: 'column'")
    lab.sandbox.runs = [said.run(*(("inner", {}),) * 4), *(broke,) * 4]
    assert (await lab.do(TASK)).outcome == "answered", "how often a tool retries is not the agent's circling"
    assert said.answers[0] == (502, "inner failed (error): KeyError: 'column'")
    failed = lab.events(e.ToolFailed)
    assert [(one.depth, one.reason) for one in failed] == [(1, "error")] * 4
    cards = {card.name: (card.runs, card.failures) for card in lab.shelf.cards()}
    assert cards == {"inner": (4, 4), "outer": (1, 0)}
    assert [one.name for one in lab.events(e.ToolDemoted)][:1] == ["inner"]
    assert not lab.events(e.AgentNudged)


async def test_files_of_a_called_tool_are_reported_with_the_call_of_the_agent(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))

    def leaves(job: Job) -> RunReport:
        (Path(job.outputs) / "0").write_text("a,b\n1,2\n")
        return RunReport(
            status="ok", exit_code=0, result="made.csv", files=(e.LeftFile(name="made.csv", size=8),)
        )

    lab.sandbox.runs = [Said(lab).run(("inner", {})), leaves]
    await lab.do(TASK)
    assert [one.artefact.name for one in lab.events(e.ArtefactAdded)] == ["made.csv"]
    assert "files it made" in "\n".join(entry.message.text for entry in conversation(lab.bus.history))


async def test_an_interrupt_ends_the_call_and_what_it_called(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    lab.sandbox.runs = [Said(lab).run(("inner", {})), asyncio.Event()]

    def stop(event: e.SessionEvent) -> Command | None:
        return Interrupt() if isinstance(event, e.ToolCalled) and event.caller else None

    assert (await lab.do(TASK, when=stop)).outcome == "interrupted"
    failed = lab.events(e.ToolFailed)
    assert [(one.depth, one.reason) for one in failed] == [(1, "interrupted"), (0, "interrupted")]
    assert not lab.engine.inner_calls._runs.open


async def test_after_a_crash_both_calls_end_the_inner_one_first(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    reached = asyncio.Event()

    async def dies(job: Job) -> RunReport:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    lab.sandbox.runs = [Said(lab).run(("inner", {})), dies]
    await lab.begin()
    lab.engine.send(TASK)
    running = asyncio.create_task(lab.engine.run(until_idle=True))
    await reached.wait()
    left = [one for one in lab.bus.history if not isinstance(one.event, e.ToolFailed)]
    running.cancel()
    await asyncio.wait((running,))
    assert check(left) == []
    again = make(tmp_path / "next", say("answer", text="done"))
    again.shelf = lab.shelf
    for one in left:
        await again.file.record(one, barrier=False)
    again.reopen()
    await again.do()
    ended = [one.call_id for one in again.events(e.ToolFailed)]
    calls = [one.event.call_id for one in left if isinstance(one.event, e.ToolCalled)]
    assert ended == calls[::-1]


async def test_a_missing_sandbox_for_the_called_tool_is_not_a_failure_of_the_caller(tmp_path: Path) -> None:
    lab = make(tmp_path)
    put(lab, "outer", pin(put(lab, "inner")))
    lab.sandbox.runs = [Said(lab).run(("inner", {})), SandboxUnavailable("Podman is gone.")]
    assert (await lab.do(TASK)).outcome == "sandbox"
    assert [one.reason for one in lab.events(e.ToolFailed)] == ["sandbox", "sandbox"]


async def test_self_tests_call_no_tool(tmp_path: Path) -> None:
    lab = make(tmp_path)
    with pytest.raises(CallRefused, match="self-tests"):
        await lab.engine.inner_calls.call("a-build", "inner", {})
