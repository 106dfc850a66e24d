"""A build that wants to call tools: each name becomes what is approved now, and that is what is granted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.events import Lock, RunReport, ToolDraft, build_digest
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.grants import tool_grants
from alita_tui.spine.ports.sandbox import Job
from alita_tui.view.risk import names_to_accept, risks
from tests.agent.lab import Lab, conversation, say
from tests.agent.replies import approve, verdict
from tests.support.calling import CALLS, TAKES_X, a_tool, approved, pin

TASK = SubmitTask(text="call it")
RUN = say("run_tool", name="outer", arguments={"name": "inner", "arguments": {"x": 4}})
TAKES = {"type": "object", "properties": {"name": {}, "arguments": {}}, "required": ["name", "arguments"]}
FILE = {"type": "object", "properties": {"t": {"type": "string", "format": "file"}}}


def drafted(*tools: str) -> ScriptReply:
    tool = a_tool("outer", CALLS)
    return say(
        "submit_tool", name="outer", description="Calls another tool.", code=tool.code, requirements=[],
        tests="from outer import run\n\n\ndef test_a():\n    assert run\n\n\ndef test_b():\n    assert run\n",
        input_schema=TAKES, output_schema={},
        capabilities={"tools": list(tools)},
    )  # fmt: skip


def lab(folder: Path, *smith: ScriptReply, needs: tuple[str, ...] = ("inner",), orders: int = 1) -> Lab:
    build = say("build_tool", name="outer", goal="Call it.", needs={"tools": list(needs)})
    rules = [
        Rule(
            role="orchestrator", match="TASK: ", replies=(*orders * (build,), RUN, say("answer", text="done"))
        ),
        Rule(role="toolsmith", match="Tool name: outer", replies=smith or (drafted("inner"),)),
    ]
    return Lab(folder, rules=rules)


def newest(of: Lab) -> ToolDraft:
    drafts: list[e.BuildDrafted] = of.events(e.BuildDrafted)
    return drafts[-1].draft


async def test_a_called_tool_is_pinned_shown_granted_and_run(tmp_path: Path) -> None:
    at = lab(tmp_path)
    inner = approved(at.shelf, a_tool("inner", schema=TAKES_X, network=("a.example:443",)))
    answers: list[Any] = []

    async def outer(job: Job) -> RunReport:
        answers.append(await at.engine.inner_calls.call(job.run_id, "inner", {"x": 4}))
        return RunReport(status="ok", exit_code=0, result=answers[-1])

    at.sandbox.runs = [outer, RunReport(status="ok", exit_code=0, result=8)]
    assert (await at.do(TASK, when=approve)).outcome == "answered"
    assert newest(at).capabilities.tools == (pin(inner),), "with the digest, and all that it may use"
    build = at.view.state.builds[0]
    assert build.current is not None and "tools" in names_to_accept(risks(build, build.current))
    assert answers == [8] and [job.module for job in at.sandbox.jobs if job.kind == "run"] == [
        "outer",
        "inner",
    ]
    record = at.shelf.get("outer")
    assert record.granted.tools == (pin(inner),), "the files of the tool hold the pin"
    (asked,) = [request for request in at.asked if request.role == "toolsmith"]
    assert "Tools that it may call:\n- inner(x: int)" in asked.messages[0].text


async def test_a_withheld_tool_is_not_called(tmp_path: Path) -> None:
    at = lab(tmp_path)
    approved(at.shelf, a_tool("inner", schema=TAKES_X))
    refused: list[str] = []

    async def outer(job: Job) -> RunReport:
        try:
            await at.engine.inner_calls.call(job.run_id, "inner", {"x": 4})
        except Exception as error:
            refused.append(str(error))
        return RunReport(status="ok", exit_code=0, result=1)

    at.sandbox.runs = [outer]
    await at.do(TASK, when=lambda event: verdict(event, "approved", grants=e.Capabilities()))
    assert refused == ["the tool inner is not granted"]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("nothing", "There is no tool nothing to run."),
        ("outer", "There is no tool outer to run."),
        ("taken_back", "There is no tool taken_back to run."),
        ("other_name", "name inner itself, in the code too"),
        ("files", "takes a file"),
        ("deep", "calls may be 3 deep"),
        ("Bad Name", "is not the name of a tool"),
    ],
)
async def test_a_draft_that_names_an_uncallable_tool_goes_back_to_the_model(
    tmp_path: Path, named: str, why: str
) -> None:
    at = lab(tmp_path, drafted(named), drafted("inner"))
    inner = approved(at.shelf, a_tool("inner", schema=TAKES_X))
    approved(at.shelf, a_tool("taken_back"))
    at.shelf.change_state("taken_back", 1, "revoked")
    twin = e.Twin(name=inner.draft.name, version=1, digest=inner.digest)
    at.shelf.alias("other_name", "Another name.", twin, approval_id="alias", by="tester")
    approved(at.shelf, a_tool("files", schema=FILE))
    below = inner
    for name in ("second", "third", "deep"):
        below = approved(at.shelf, a_tool(name, CALLS, tools=(pin(below),)))
    await at.do(TASK, when=approve)
    asked = [request for request in at.asked if request.role == "toolsmith"]
    assert len(asked) == 2 and why in asked[1].messages[-1].text, asked[1].messages[-1].text
    assert [grant.name for grant in tool_grants(newest(at).capabilities)] == ["inner"]


async def test_a_pin_made_up_by_a_model_is_replaced_by_the_real_one(tmp_path: Path) -> None:
    at = lab(tmp_path, drafted("inner@9:" + "ab" * 32 + " may network:evil.example:443"))
    inner = approved(at.shelf, a_tool("inner", schema=TAKES_X))
    await at.do(TASK, when=approve)
    assert newest(at).capabilities.tools == (pin(inner),)


async def test_a_new_version_does_not_call_the_one_before_as_itself(tmp_path: Path) -> None:
    at = lab(tmp_path, drafted("outer"), drafted("inner"), needs=(), orders=2)  # the first is shown the tool
    approved(at.shelf, a_tool("outer"))
    approved(at.shelf, a_tool("inner", schema=TAKES_X))
    await at.do(TASK, when=approve)
    asked = [request for request in at.asked if request.role == "toolsmith"]
    assert "outer cannot call itself" in asked[1].messages[-1].text


async def test_a_tool_approved_for_one_task_cannot_be_pinned(tmp_path: Path) -> None:
    at = lab(tmp_path, drafted("inner"), drafted())
    lent = a_tool("inner", schema=TAKES_X)
    shelf = at.engine._shelf
    shelf.lend(lent, Lock(), version=1, approval_id="t", digest=build_digest(lent, Lock()))
    await at.do(TASK, when=approve)
    asked = [request for request in at.asked if request.role == "toolsmith"]
    assert "was approved for one task alone" in asked[1].messages[-1].text


async def test_the_prompt_explains_how_a_tool_calls_another(tmp_path: Path) -> None:
    at = lab(tmp_path)
    approved(at.shelf, a_tool("inner", schema=TAKES_X))
    at.sandbox.runs = [RunReport(status="ok", exit_code=0, result=1)]
    await asyncio.wait_for(at.do(TASK, when=approve), 20)
    assert "- tools: approved tools by name. POST" in at.requests[0].system
    assert "/tools/NAME" in at.requests[0].system
    assert conversation(at.bus.history)
