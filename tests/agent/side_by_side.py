"""Tasks and agents that work side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import (
    CloseSession,
    ResolveApproval,
)
from alita_tui.spine.laws import check
from alita_tui.spine.ports.models import Delta, ModelRequest, Reply
from alita_tui.state.reduce import reduce, reduce_all
from alita_tui.state.session import SessionState
from alita_tui.view.fingerprint import fingerprint
from alita_tui.view.fold import fold, fold_all
from alita_tui.view.model import SessionView
from tests.agent.lab import Lab, Priced, say


def leave_verdicts(lab: Lab, *names: str) -> None:
    for parked in lab.desk.pending():
        if parked.name in names:
            decided = e.Verdict(decision="approved", by="somebody", via="cli")
            lab.desk.leave(
                parked.approval_id,
                ResolveApproval(approval_id=parked.approval_id, digest=parked.digest, verdict=decided),
            )


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(180):
        while not true():
            await asyncio.sleep(0.001)  # what is done in threads needs its time, too


def doing(task: str, *replies: object) -> Rule:
    return Rule(role="orchestrator", match=f"TASK: {task}", replies=replies)  # type: ignore[arg-type]


def begun(lab: Lab) -> list[str]:
    return [one.text for one in lab.events(e.TaskSubmitted)]


def ended(lab: Lab) -> dict[str, str]:
    texts = {one.task_id: one.text for one in lab.events(e.TaskSubmitted)}
    return {texts[one.task_id]: one.outcome for one in lab.events(e.TaskFinished)}


def sound(lab: Lab) -> None:
    """The laws hold, and a replay shows what was shown live, event by event and at once."""
    assert check(lab.bus.history, complete=True) == []
    view, state = SessionView(), SessionState()
    for envelope in lab.bus.history:
        view, state = fold(view, envelope), reduce(state, envelope)
    assert fingerprint(view) == fingerprint(fold_all(lab.bus.history))
    assert state == reduce_all(lab.bus.history)
    assert not state.lanes and not state.running, "everything has ended"


@asynccontextmanager
async def at_work(lab: Lab) -> AsyncIterator[None]:
    """The engine runs; at the end the process is gone."""
    await lab.begin()
    running = asyncio.create_task(lab.engine.run())
    try:
        yield
    finally:
        lab.engine.send(CloseSession())
        await running


def hand(role: str, goal: str, **more: Any) -> e.ToolRequest:
    return e.ToolRequest(call_id="", name="delegate", arguments={"role": role, "goal": goal, **more})


def together(*parts: e.ToolRequest) -> Any:
    """One reply that hands on several parts."""
    replies = [say(part.name, **part.arguments) for part in parts]
    return msgspec.structs.replace(replies[0], requests=tuple(one for r in replies for one in r.requests))


def lead(*replies: Any) -> Rule:
    return Rule(role="orchestrator", match="TASK: ", replies=replies)


def part(goal: str, *replies: Any) -> Rule:
    return Rule(role="specialist", match=f"GOAL: {goal}", replies=replies)


def report(text: str = "found", **more: Any) -> Any:
    return say("report", result=text, **more)


class Gate:
    """Holds the replies to agents with certain goals until the test lets them go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *goals: str) -> None:
        self.closed = set(goals)
        self.at: set[str] = set()
        self.together = 0
        moved = asyncio.Condition()
        self._moved = moved
        through = Priced.reply

        async def reply(model: Priced, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            said = request.messages[0].text.partition("\n")[0] if request.messages else ""
            goal = said.removeprefix("GOAL: ")
            self.at.add(goal)
            self.together = max(self.together, len(self.at & self.goals))
            try:
                async with moved:
                    await moved.wait_for(lambda: goal not in self.closed)
            finally:
                self.at.discard(goal)
            async for piece in through(model, request):
                yield piece

        self.goals = set(goals)
        monkeypatch.setattr(Priced, "reply", reply)

    async def open(self, *goals: str) -> None:
        async with self._moved:
            self.closed -= set(goals) or self.closed
            self._moved.notify_all()


def nothing(goal: str) -> Rule:
    """An agent whose model gives no valid action, ever."""
    return part(goal, *(say("no_such_action") for _ in range(8)))
