"""Plans are compared by their records: which one is followed, what it costs, and what a failing tool changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.planner import Planner, weighed
from alita_tui.events import MemoryItem, PlanCandidate, RunReport
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.memory.lessons import recipe_id
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.envelope import decode, encode
from alita_tui.spine.laws import check
from alita_tui.view.trace import rows_for
from tests.agent.lab import Lab, conversation, say
from tests.support import streams

TASK = "Double the numbers of the report"
OWN = say("plan", steps=["Run slow_double on the numbers", "Answer with the doubled numbers"])
DONE = say("answer", text="eight")


def proposing(*tools: str, confidence: float = 0.8) -> ScriptReply:
    plans = [
        {"steps": [f"Run {tool}", "Answer"], "tools": [tool], "confidence": confidence} for tool in tools
    ]
    return say("propose_plans", plans=plans)


def rules(*replies: ScriptReply, propose: ScriptReply | None = None) -> list[Rule]:
    planner = [Rule(role="planner", match=".", replies=(propose,) * 3)] if propose else []
    return [Rule(role="orchestrator", match=TASK, replies=replies), *planner]


def lab_with(folder: Path, records: dict[str, tuple[int, int]], script: list[Rule], **policy: Any) -> Lab:
    """A lab whose library has tools that ran so often well, and so often not."""
    lab = Lab(folder, rules=script, **policy)
    for number, (name, (good, bad)) in enumerate(records.items()):
        code = streams.DRAFT.code.replace("def run", f"# {name}\ndef run", 1)
        drafted = replace(
            streams.DRAFT, name=e.ToolName(name), code=code, description=f"Double numbers, way {number}."
        )
        record = lab.shelf.register(
            drafted, e.Lock(), approval_id=f"a{number}", digest=e.build_digest(drafted, e.Lock()), sources=()
        )
        for ok in [True] * good + [False] * bad:
            lab.shelf.record_run(name, record.version, ok=ok, query="double")
    return lab


def remember(lab: Lab, *tools: str, times: int) -> str:
    """Let a chain of tools have answered such tasks so often."""
    for number in range(times):
        lab.memory.write(
            MemoryItem(
                item_id=recipe_id(tools), memory="procedural", text=TASK, source_session="old",
                source_seq=number + 1, tools=tools,
            )
        )  # fmt: skip
    return recipe_id(tools)


def planner_calls(lab: Lab) -> int:
    return sum(request.role == "planner" for request in lab.asked)


async def test_a_plan_with_better_tools_is_followed_and_the_model_learns_of_it(tmp_path: Path) -> None:
    lab = lab_with(
        tmp_path,
        {"slow_double": (1, 9), "fast_double": (12, 0)},
        rules(OWN, DONE, propose=proposing("fast_double")),
    )
    await lab.do(SubmitTask(text=TASK))
    (compared,) = lab.events(e.PlansWeighed)
    assert compared.candidates[compared.chosen].tools == ("fast_double",)
    assert compared.candidates[0].tools == ("slow_double",), "the agent's own plan is one of them"
    assert compared.candidates[0].value < compared.candidates[1].value
    assert lab.events(e.PlanProposed)[-1].steps == ("Run fast_double", "Answer")
    told = lab.requests[-1].messages[-1].text
    assert "Follow it instead" in told and "1. Run fast_double" in told
    assert planner_calls(lab) == 1


async def test_the_own_plan_of_the_agent_stays_if_it_is_the_best(tmp_path: Path) -> None:
    lab = lab_with(
        tmp_path,
        {"slow_double": (12, 0), "fast_double": (1, 9)},
        rules(OWN, DONE, propose=proposing("fast_double")),
    )
    await lab.do(SubmitTask(text=TASK))
    (compared,) = lab.events(e.PlansWeighed)
    assert compared.chosen == 0
    assert "The plan is noted. Go on." in lab.requests[-1].messages[-1].text


@pytest.mark.parametrize(
    ("records", "plans"),
    [
        ({}, 3),
        ({"slow_double": (1, 0), "fast_double": (1, 0)}, 3),
        ({"slow_double": (9, 0), "fast_double": (9, 0)}, 1),
    ],
    ids=["empty library", "nothing is known of the tools", "switched off"],
)
async def test_the_planner_is_not_called_if_no_plan_could_be_better(
    tmp_path: Path, records: dict[str, tuple[int, int]], plans: int
) -> None:
    lab = lab_with(tmp_path, records, rules(OWN, DONE, propose=proposing("fast_double")), plans=plans)
    await lab.do(SubmitTask(text=TASK))
    assert lab.events(e.PlansWeighed) == []
    assert planner_calls(lab) == 0


async def test_a_certain_recipe_is_followed_without_a_call(tmp_path: Path) -> None:
    lab = lab_with(
        tmp_path,
        {"slow_double": (1, 9), "fast_double": (12, 0)},
        rules(OWN, DONE, propose=proposing("other")),
    )
    recipe = remember(lab, "fast_double", times=8)
    await lab.do(SubmitTask(text=TASK))
    (compared,) = lab.events(e.PlansWeighed)
    followed = compared.candidates[compared.chosen]
    assert (followed.source, followed.recipe, followed.worked, followed.tried) == ("recipe", recipe, 8, 8)
    assert lab.events(e.PlanProposed)[-1].recipe == recipe, "its outcome counts for the recipe"
    assert planner_calls(lab) == 0


async def test_a_failing_tool_changes_the_plan_twice_at_most(tmp_path: Path) -> None:
    names = ("first", "second", "third", "fourth")
    run = [say("run_tool", name=name, arguments={"addresses": []}) for name in names]
    plan = say("plan", steps=["Run first", "Answer"])
    lab = lab_with(
        tmp_path,
        {name: (9, number) for number, name in enumerate(names)},
        rules(plan, *run, DONE, propose=proposing(*names[1:])),
        plans=4,
    )
    broken = RunReport(status="error", exit_code=1, error="ValueError: no")
    lab.sandbox.runs = [broken] * 4
    await lab.do(SubmitTask(text=TASK))
    compared = lab.events(e.PlansWeighed)
    assert [one.because for one in compared] == ["", "first", "second"]
    followed = [one.candidates[one.chosen].tools for one in compared]
    assert followed == [("first",), ("second",), ("third",)]
    assert any(
        "first failed, so another plan is worth more now" in message.text
        for message in lab.requests[2].messages
    )
    assert lab.events(e.PlanProposed)[-1].steps[0] == "Run third"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"plans": "none"},
        {"plans": [{"steps": 5}]},
        {"plans": [{"steps": ["a", "b"], "tools": ["x; rm"], "confidence": 7}]},
        {"plans": [{"steps": ["only one"], "tools": [], "confidence": 1}]},
    ],
)
async def test_a_useless_reply_of_the_planner_changes_nothing(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    lab = lab_with(
        tmp_path,
        {"slow_double": (9, 0), "fast_double": (9, 0)},
        rules(OWN, DONE, propose=say("propose_plans", **arguments)),
    )
    ended = await lab.do(SubmitTask(text=TASK))
    assert ended.outcome == "answered"
    assert lab.events(e.PlansWeighed) == []


async def test_a_resumed_task_keeps_the_plan_that_was_chosen(tmp_path: Path) -> None:
    lab = lab_with(
        tmp_path,
        {"slow_double": (1, 9), "fast_double": (12, 0)},
        rules(OWN, DONE, propose=proposing("fast_double")),
    )
    await lab.do(SubmitTask(text=TASK))
    before = [message.text for message in lab.requests[-1].messages]
    lab.reopen()
    assert [entry.message.text for entry in lab.context.entries()][: len(before)] == before


def test_the_row_says_what_was_compared_and_what_each_is_worth() -> None:
    plans = weighed(
        [
            PlanCandidate(steps=("Run a", "Answer"), tools=("a",), confidence=0.6),
            PlanCandidate(
                steps=("Run b", "Answer"), tools=("b",), source="recipe", worked=3, tried=4, confidence=0.5
            ),
        ],
        {"a": 0.3, "b": 0.9},
    )
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text=TASK))
    tape.add(e.PlansWeighed(task_id=e.TaskId("t1"), candidates=plans, chosen=1))
    (row,) = rows_for(tape.envelopes[-1])
    assert "2 plans weighed: the one from memory is followed" in row.title
    assert (
        "worked or liked 3 of 4" in row.detail
        and "never tried" in row.detail
        and "▸ the one from memory" in row.detail
    )


def test_a_record_that_follows_no_plan_or_changes_it_too_often_breaks_a_law() -> None:
    plan = PlanCandidate(steps=("a", "b"))
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text=TASK))
    tape.add(e.PlansWeighed(task_id=e.TaskId("t1"), candidates=(plan,), chosen=1))
    for _ in range(3):
        tape.add(e.PlansWeighed(task_id=e.TaskId("t1"), candidates=(plan,), chosen=0, because="a"))
    laws = [breach.law for breach in check(tape.envelopes)]
    assert laws == ["follow what was weighed", "change a plan twice at most"]


@pytest.mark.parametrize("chosen", [-9, -1, 1, 10**12])
async def test_a_damaged_record_of_a_plan_is_reported_and_the_session_continues(
    tmp_path: Path, chosen: int
) -> None:
    written = e.PlansWeighed(
        task_id=e.TaskId("t1"), candidates=(PlanCandidate(steps=("a", "b")),), chosen=chosen
    )
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text=TASK))
    tape.add(written)
    assert rows_for(tape.envelopes[-1]), "as an object"
    read = [decode(encode(one)) for one in tape.envelopes]
    assert rows_for(read[-1]), "as it is read from a file"
    assert isinstance(read[-1].event, e.UnknownEvent) == (chosen < 0)
    assert [entry.message.text for entry in conversation(read)] == [f"TASK: {TASK}"]
    lab = Lab(tmp_path, rules=[])
    task, asker = SimpleNamespace(newest=lambda *_: [written]), SimpleNamespace()
    parts: Any = (lab.bus, asker, lab.shelf, lab.memory, task)
    planner = Planner(*parts, candidates=3)
    assert planner.reweigh(()) is None
