"""The plan as a live checklist: numbers that stay, ticks that are recorded, shown and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.agent.checklist import checklist
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
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


async def test_what_was_being_done_when_its_task_failed_has_failed(tmp_path: Path) -> None:
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
def test_marks(written: str, text: str, status: str) -> None:
    made = checklist("t", [written], None)
    assert (made.steps, made.status) == ((text,), (status,))


def test_a_step_keeps_its_number_and_a_new_one_gets_the_next() -> None:
    first = checklist("t", ["a", "b", "c"], None)
    second = checklist("t", ["[x] a", "d", "c", "c"], first)
    assert second.ids == (1, 4, 3, 5)


def test_older_plans_have_neither_numbers_nor_ticks() -> None:
    old = e.PlanProposed(task_id="t", steps=("a", "b"))
    assert checklist("t", ["b", "a"], old).ids == (1, 2)
