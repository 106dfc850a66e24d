"""The plan as a live checklist: numbers that stay, ticks that are recorded, shown and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.agent.checklist import checklist, from_person
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.commands import Command, Steer
from alita_tui.view.trace import rows_for
from tests.agent.lab import Lab, conversation, say
from tests.agent.replies import DONE, TASK, rules


def plan(*steps: str) -> ScriptRequest:
    return ScriptRequest(name="plan", arguments={"steps": [*steps]})


async def test_a_plan_is_ticked_beside_other_actions_and_ends_with_its_task(tmp_path: Path) -> None:
    search = ScriptRequest(name="find_tool", arguments={"query": "double"})
    ticked = ScriptReply(requests=(search, plan("[x] look", "[>] build it", "[-] ask", "run it")))
    lab = Lab(tmp_path, rules=rules(say("plan", steps=["look", "build it", "ask"]), ticked, DONE))
    assert (await lab.do(TASK)).outcome == "answered"
    first, second = lab.events(e.PlanProposed)
    assert (first.ids, first.status) == ((1, 2, 3), ("open", "open", "open"))
    assert (second.ids, second.status) == ((1, 2, 3, 4), ("done", "doing", "dropped", "open"))
    told = [entry.message.text for entry in conversation(lab.bus.history) if entry.name == "plan"]
    assert told == [
        "The plan is noted. Go on.",
        "The plan is noted: 1 done, 1 doing, 1 dropped, 1 open. Go on.",
    ]
    assert lab.view.plan == ("✓ look", "✓ build it", "– ask", "○ run it"), "its task was answered meanwhile"
    rows = [rows_for(one) for one in lab.bus.history if isinstance(one.event, e.PlanProposed)]
    assert [row.title for one in rows for row in one] == [
        "look; build it; ask",
        "✓ look; ▸ build it; – ask; ○ run it",
    ]
    assert rows[1][0].detail == "1. ✓ look\n2. ▸ build it\n3. – ask\n4. ○ run it"


async def test_the_current_step_fails_together_with_its_task(tmp_path: Path) -> None:
    script = rules(say("plan", steps=["[>] look", "go on"]), say("nonsense"), say("nonsense"))
    lab = Lab(tmp_path, rules=script)
    assert (await lab.do(TASK)).outcome == "failed"
    assert lab.view.plan == ("✗ look", "○ go on")


@pytest.mark.parametrize(
    ("written", "text", "status"),
    [
        ("[x] read", "read", "done"),
        ("- [X] read", "read", "done"),
        ("1. [>] read", "read", "doing"),
        ("[!] 2) read", "read", "failed"),
        ("[-] read", "read", "dropped"),
        ("[ ] read", "read", "open"),
        ("[] read", "read", "open"),
        ("3. read", "read", "open"),
        ("read [x] later", "read [x] later", "open"),
        ("[x]", "[x]", "done"),
    ],
)
def test_marks_of_steps_are_parsed(written: str, text: str, status: str) -> None:
    made = checklist(e.TaskId("t"), [written], None)
    assert (made.steps, made.status) == ((text,), (status,))


def test_a_step_keeps_its_number_and_a_new_one_gets_the_next() -> None:
    first = checklist(e.TaskId("t"), ["a", "b", "c"], None)
    second = checklist(e.TaskId("t"), ["[x] a", "d", "c", "c"], first)
    assert second.ids == (1, 4, 3, 5)


def test_older_plans_have_neither_numbers_nor_ticks() -> None:
    old = e.PlanProposed(task_id=e.TaskId("t"), steps=("a", "b"))
    assert checklist(e.TaskId("t"), ["b", "a"], old).ids == (1, 2)


async def test_the_person_changes_the_plan_while_it_runs(tmp_path: Path) -> None:
    lab = Lab(
        tmp_path, rules=rules(say("plan", steps=["look", "build it"]), say("find_tool", query="x"), DONE)
    )
    sent: list[bool] = []

    def change(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.PlanProposed) and not sent:
            sent.append(True)
            return Steer(text="/plan [x] look; use csv; build it")
        return None

    assert (await lab.do(TASK, when=change)).outcome == "answered"
    mine = lab.events(e.PlanProposed)[-1]
    assert (mine.by, mine.ids, mine.status) == ("person", (1, 3, 2), ("done", "open", "open"))
    told = [entry.message.text for entry in conversation(lab.bus.history) if entry.message.role == "user"]
    assert told[1:] == [
        "The person changed the plan. It is now:\n1. [done] look\n3. [open] use csv\n2. [open] build it"
    ]
    assert lab.view.plan == ("✓ look", "○ use csv", "○ build it")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("/plan a; b", ("a", "b")),
        ("/plan\na\n[x] b\n", ("a", "[x] b")),
        ("/plan a\nb", ("a", "b")),
        ("/plan", ()),
        ("/planet a; b", None),
        ("make a /plan a; b", None),
    ],
)
def test_a_plan_written_by_the_person_is_parsed(text: str, steps: tuple[str, ...] | None) -> None:
    assert from_person(text) == steps
