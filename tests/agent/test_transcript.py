"""A long session: what has ended leaves memory, is read again from the record, and nobody sees a difference."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.agent import transcript
from alita_tui.agent.tokens import by_script
from alita_tui.agent.transcript import Transcript
from alita_tui.events import MemoryItem, ToolRequest
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.origin import LEAD
from tests.agent.tool_lab import DOUBLE

NOW = datetime(2026, 11, 26, tzinfo=UTC)

Told = tuple[e.TaskId, e.AgentId, e.SessionEvent]


def told(events: list[Told], first: int = 1) -> list[Envelope]:
    """Put events on record: task, agent and event of each."""
    return [
        Envelope(
            seq=seq, session_id="s", at=NOW, task_id=task, agent_id=agent, span=task,
            schema_version=SCHEMA_VERSION, event=event,
        )
        for seq, (task, agent, event) in enumerate(events, first)
    ]  # fmt: skip


def page(task: e.TaskId, agent: e.AgentId, call: str, text: str) -> list[Told]:
    """An agent reads a page."""
    asked = ToolRequest(call_id=f"w{call}", name="read_page", arguments={"url": "https://e.org"})
    role: Any = "orchestrator" if agent == LEAD else "specialist"
    return [
        (task, agent, e.ModelReplied(call_id=call, role=role, model="m:a", text=f"reading {call}", requests=(asked,))),
        (task, agent, e.PageRead(action_id=f"{call}.0", url="https://e.org", text=text)),
    ]  # fmt: skip


def handed(task: e.TaskId, agent: e.AgentId, call: str, text: str) -> list[Told]:
    """A part is handed to an agent, which reads a page and reports."""
    asked = ToolRequest(call_id=f"w{call}", name="delegate", arguments={"goal": "look"})
    return [
        (task, LEAD, e.ModelReplied(call_id=call, role="orchestrator", model="m:a", text="", requests=(asked,))),
        (task, LEAD, e.AgentStarted(agent_id=agent, action_id=f"{call}.0", role="researcher", goal="look")),
        *page(task, agent, f"{call}a", text),
        (task, LEAD, e.AgentEnded(agent_id=agent, action_id=f"{call}.0", outcome="reported", result="seen")),
    ]  # fmt: skip


class Long(Sequence[Envelope]):
    """Very many tasks that read and hand on, none of which is in memory."""

    def __init__(self, tasks: int, letters: int) -> None:
        self._tasks, self._letters = tasks, letters
        self._last: tuple[int, list[Envelope]] = (-1, [])
        self.each = len(self._task(0))
        """Events of a task."""

    def _task(self, number: int) -> list[Envelope]:
        task, text = e.TaskId(f"t{number}"), f"{number} " * (self._letters // len(f"{number} "))
        events: list[Told] = [
            (task, LEAD, e.TaskSubmitted(task_id=task, text=f"task {number}")),
            *page(task, LEAD, f"c{number}", text),
            *handed(task, e.AgentId(f"a{number}"), f"d{number}", text),
            (task, LEAD, e.ToolCalled(call_id=e.CallId(f"r{number}"), action_id="", name=e.ToolName("x"), version=1, digest=e.BuildDigest(DOUBLE.digest), arguments={})),
            (task, LEAD, e.ToolFailed(call_id=e.CallId(f"r{number}"), reason="error", text="no")),
            (task, LEAD, e.BudgetReserved(call_id=f"p{number}", role="orchestrator", model="m:a", usd=0.1, tokens=9)),
            (task, LEAD, e.BudgetSpent(call_id=f"p{number}", cost_usd=0.1, role="orchestrator", model="m:a", tokens=9)),
            (task, LEAD, e.TaskFinished(task_id=task, outcome="answered", answer=text)),
        ]  # fmt: skip
        return told(events, number * len(events) + 1)

    def __len__(self) -> int:
        return self._tasks * self.each

    def __getitem__(self, place: Any) -> Any:
        number = place // self.each
        if self._last[0] != number:
            self._last = number, self._task(number)
        return self._last[1][place % self.each]

    def __iter__(self) -> Iterator[Envelope]:
        return (one for number in range(self._tasks) for one in self._task(number))


def held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_task_that_has_ended_leaves_nothing_of_what_it_read() -> None:
    """Of 60 tasks that each read 6 kB and answer 3, after as many that did: next to nothing."""
    history, heard = Long(131, 3_000), Transcript()
    tracemalloc.start()
    try:
        heard.read(history, upto=70 * history.each)
        before = held()
        heard.read(history, upto=130 * history.each + 1)
        grown = held() - before
    finally:
        tracemalloc.stop()
    assert heard.shown()[-1].message.text == "TASK: task 130"
    assert grown < 40_000, f"{grown} bytes of 540,000"


def test_a_counted_text_is_not_held_in_memory() -> None:
    tracemalloc.start()
    try:
        before = held()
        for number in range(20):
            by_script(f"{number} " + "a" * 50_000)
        grown = held() - before
    finally:
        tracemalloc.stop()
    assert grown < 50_000, f"{grown} bytes of 1,000,000"


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ("begin", "begin", "read", "hand on", "fail", "fail", "again", "again", "forget")
            ),
            st.integers(0, 2),
        ),
        min_size=20,
        max_size=60,
    )
)
def test_text_that_left_memory_is_shown_unchanged(steps: list[tuple[str, int]]) -> None:
    """Whatever happens beside and after it: turns, earlier tasks, and what events brought."""
    events: list[Told] = []
    going: list[e.TaskId] = []
    over: list[e.TaskId] = []
    for number, (step, which) in enumerate([("begin", 0), *steps]):
        task = going[which % len(going)] if going else e.NO_TASK
        match step:
            case "begin":
                going.append(e.TaskId(f"t{number}"))
                events.append((going[-1], LEAD, e.TaskSubmitted(task_id=going[-1], text=f"do {number}")))
                remembered = MemoryItem(item_id=f"m{which}", memory="semantic", text=f"fact {which}", source_session="x", origin="person")  # fmt: skip
                events.append((going[-1], LEAD, e.MemoryRecalled(task_id=going[-1], items=(remembered,))))
            case "read" if task:
                events += page(task, LEAD, f"c{number}", f"page {number}")
            case "hand on" if task:
                events += handed(task, e.AgentId(f"a{number}"), f"d{number}", f"part {number}")
            case "fail" if task:
                events.append(
                    (task, LEAD, e.TaskFinished(task_id=task, outcome="failed", answer=f"a {number}"))
                )
                going.remove(task)
                over.append(task)
            case "again" if over:
                before = over.pop(which % len(over))
                going.append(e.TaskId(f"t{number}"))
                events.append((going[-1], LEAD, e.TaskSubmitted(task_id=going[-1], text="do", again=before)))
            case "forget":
                events.append((e.NO_TASK, e.NO_AGENT, e.MemoryForgotten(item_id=f"m{which}")))
            case _:
                pass
    history = told(events)
    kept, dropping = Transcript(), Transcript()
    for upto in range(1, len(history) + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transcript, "_ENDED", 10_000)
            kept.read(history, upto=upto)
            patch.setattr(transcript, "_ENDED", 1)
            dropping.read(history, upto=upto)
        assert dropping.shown() == kept.shown()
    for task in going:
        assert dropping.shown(task) == kept.shown(task)
    brought = [seq for seq in range(len(history) + 2) if kept.observation(seq)]
    assert len(brought) >= sum(isinstance(one, e.PageRead | e.AgentEnded) for _, _, one in events)
    for seq in range(len(history) + 2):
        assert dropping.observation(seq) == kept.observation(seq)
