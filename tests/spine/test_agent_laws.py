"""A stream of a task with agents keeps the laws, and one that goes wrong in one place breaks the law of that place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from alita_tui import events as e
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.laws import check

Told = tuple[str, e.SessionEvent]
"""An agent and what happened there."""


def begin(name: str, *, depth: int = 1, usd: float | None = 0.1) -> e.AgentStarted:
    return e.AgentStarted(
        agent_id=e.AgentId(name), action_id="a", role="boss", goal="g", depth=depth, usd=usd, tokens=1000
    )


def end(name: str) -> e.AgentEnded:
    return e.AgentEnded(agent_id=e.AgentId(name), action_id="a", outcome="reported")


def reserve(call: str, usd: float) -> e.BudgetReserved:
    return e.BudgetReserved(call_id=call, role="specialist", model="p:m", usd=usd, tokens=10)


DONE = e.TaskFinished(task_id=e.TaskId("t"), outcome="answered")
ACT = e.ActionChosen(action_id="x", action="look", arguments={})


def laws(*told: Told) -> set[str]:
    events: list[Told] = [
        ("", e.SessionOpened(model="m")),
        ("lead", e.TaskSubmitted(task_id=e.TaskId("t"), text="go")),
        *told,
    ]
    stream = [
        Envelope(
            seq=n, session_id="s", at=datetime(2026, 1, 1, tzinfo=UTC), task_id=e.TaskId("t") if who else e.NO_TASK, agent_id=e.AgentId(who),
            step=1, schema_version=SCHEMA_VERSION, event=event,
        )
        for n, (who, event) in enumerate(events, 1)
    ]  # fmt: skip
    return {breach.law for breach in check(stream, complete=True)}


def test_agents_that_follow_the_rules_break_no_law() -> None:
    assert laws(
        ("lead", begin("a")), ("a", begin("b", depth=2, usd=0.04)), ("b", ACT), ("b", reserve("c1", 0.04)),
        ("b", e.BudgetSpent(call_id="c1", cost_usd=0.03)), ("a", end("b")), ("a", reserve("c2", 0.07)),
        ("a", e.BudgetSpent(call_id="c2", cost_usd=0.07)), ("lead", end("a")), ("lead", DONE),
    ) == set()  # fmt: skip


@pytest.mark.parametrize(
    ("law", "told"),
    [
        ("agents end first", [("lead", begin("a")), ("lead", DONE), ("lead", end("a"))]),
        ("one end per agent", [("lead", begin("a"))]),
        ("one end per agent", [("lead", begin("a")), ("lead", end("a")), ("lead", end("a"))]),
        ("agents end first", [("lead", begin("a")), ("a", begin("b", depth=2)), ("lead", end("a")), ("a", end("b"))]),
        ("one agent per name", [("lead", begin("a")), ("lead", end("a")), ("lead", begin("a")), ("lead", end("a"))]),
        ("hand on twice at most", [("lead", begin("a", depth=2)), ("lead", end("a"))]),
        ("act before the end", [("lead", begin("a")), ("lead", end("a")), ("a", ACT)]),
        ("in its task", [("nobody", ACT)]),
        ("within its share", [("lead", begin("a")), ("a", reserve("c", 0.11)), ("lead", end("a"))]),
        ("within its share", [("lead", begin("a")), ("a", begin("b", depth=2, usd=0.2)), ("a", end("b")), ("lead", end("a"))]),
        ("within its share", [
            ("lead", begin("a")), ("a", begin("b", depth=2, usd=0.06)), ("a", reserve("c", 0.05)), ("a", end("b")),
            ("lead", end("a")),
        ]),
    ],
)  # fmt: skip
def test_each_violation_breaks_its_law(law: str, told: list[Told]) -> None:
    assert law in laws(*told)
