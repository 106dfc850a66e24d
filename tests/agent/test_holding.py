"""A session that is opened with unfinished work waits until the person continues it, who may steer it first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.events import Lock
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import (
    AnswerQuestion,
    CloseSession,
    Command,
    Continue,
    Interrupt,
    ResolveApproval,
    Steer,
    SubmitTask,
)
from alita_tui.spine.laws import check
from tests.agent.lab import Lab, draft, say

TASK = SubmitTask(text="double four")
BUILD = say("build_tool", "build it", name="double_it", goal="Double any whole number.")
FIND = say("find_tool", "what is there", query="double")
ASK = say("ask_user", "which", question="Four of what?")
RUN = say("run_tool", name="double_it", arguments={"x": 4})
DONE = say("answer", text="eight")


def lab(folder: Path, *replies: ScriptReply) -> Lab:
    rules = [
        Rule(role="orchestrator", match="TASK: ", replies=replies),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    ]
    return Lab(folder, rules=rules)


def approve(event: e.SessionEvent) -> Command | None:
    if not isinstance(event, e.ApprovalRequested):
        return None
    return ResolveApproval(
        approval_id=event.approval_id, digest=event.digest, verdict=e.Verdict(decision="approved")
    )


async def left(folder: Path, upto: type[e.SessionEvent], *replies: ScriptReply) -> Lab:
    """A session whose process was killed right after the first event of a kind."""
    whole = lab(folder / "whole", *replies)
    answers: Callable[[e.SessionEvent], Command | None] = lambda event: (  # noqa: E731
        AnswerQuestion(question_id=event.question_id, text="apples")
        if isinstance(event, e.QuestionAsked)
        else approve(event)
    )
    await whole.do(TASK, when=answers)
    history = list(whole.bus.history)
    cut = next(n for n, one in enumerate(history) if isinstance(one.event, upto)) + 1
    made = [one.event for one in history if isinstance(one.event, e.BuildDrafted)]
    one = lab(folder / "cut", *replies)
    for envelope in history[:cut]:
        await one.file.record(envelope, barrier=False)
        if isinstance(envelope.event, e.ToolRegistered):
            given = envelope.event.approval_id
            one.shelf.register(
                made[0].draft, Lock(), approval_id=given, digest=e.BuildDigest(made[0].digest), sources=()
            )
    one.reopen()
    return one


class Opened:
    """The session as a console has it open."""

    def __init__(self, one: Lab) -> None:
        self.one = one
        self.seen: list[e.SessionEvent] = []

    async def __aenter__(self) -> Opened:
        await self.one.begin()
        self._news = aiter(self.one.bus.subscribe())
        self._running = asyncio.create_task(self.one.engine.run(hold=True))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.one.engine.send(CloseSession())
        await self._running
        assert check(self.one.bus.history) == []
        self.one.file.close()

    async def until(self, kind: type[e.SessionEvent]) -> e.SessionEvent:
        async with asyncio.timeout(180):
            async for envelope in self._news:
                self.seen.append(envelope.event)
                if isinstance(envelope.event, kind):
                    return envelope.event
        raise AssertionError("the stream ended")

    def send(self, command: Command) -> None:
        self.one.engine.send(command)


async def test_held_work_can_be_steered_before_it_continues(tmp_path: Path) -> None:
    one = await left(tmp_path, e.ActionChosen, FIND, DONE)
    async with Opened(one) as opened:
        held = await opened.until(e.WorkHeld)
        assert isinstance(held, e.WorkHeld)
        assert len(held.tasks) == 1
        opened.send(Steer(text="only whole numbers"))
        await opened.until(e.Steered)
        opened.send(SubmitTask(text="and then this"))
        await opened.until(e.TaskQueued)
        assert one.asked == [], "nothing goes on, and no model is asked"
        opened.send(Continue())
        end = await opened.until(e.TaskFinished)
        assert isinstance(end, e.TaskFinished) and end.outcome == "answered"
        said = "\n".join(message.text for message in one.requests[0].messages)
        assert "only whole numbers" in said, "the first call knows it already"
        last = await opened.until(e.TaskFinished)
        assert isinstance(last, e.TaskFinished), "what was queued meanwhile comes after it"


async def test_a_queued_task_waits_as_well(tmp_path: Path) -> None:
    one = lab(tmp_path, DONE)
    await one.begin()
    await one.bus.emit(e.TaskQueued(queue_id="q1", text="double four"))
    one.reopen()
    async with Opened(one) as opened:
        held = await opened.until(e.WorkHeld)
        assert held == e.WorkHeld(queued=1)
        opened.send(Continue())
        end = await opened.until(e.TaskFinished)
        assert isinstance(end, e.TaskFinished) and end.outcome == "answered"


async def test_stopping_held_work_ends_it_without_a_model_call(tmp_path: Path) -> None:
    one = await left(tmp_path, e.ActionChosen, FIND, DONE)
    async with Opened(one) as opened:
        await opened.until(e.WorkHeld)
        opened.send(Interrupt())
        end = await opened.until(e.TaskFinished)
        assert isinstance(end, e.TaskFinished) and end.outcome == "interrupted"
        assert one.asked == []


@pytest.mark.parametrize("upto", [e.ApprovalRequested, e.QuestionAsked], ids=["build", "question"])
async def test_a_task_that_waits_for_the_person_is_not_held(
    tmp_path: Path, upto: type[e.SessionEvent]
) -> None:
    one = await left(tmp_path, upto, BUILD if upto is e.ApprovalRequested else ASK, DONE)
    async with Opened(one) as opened:
        state = one.view.state
        asked = one.events(upto)[0]
        if state.question is not None:
            opened.send(AnswerQuestion(question_id=state.question.question_id, text="apples"))
        else:
            while True:  # it counts from when the gate waits again
                opened.send(approve(asked) or Continue())
                event = await opened.until(e.NoticeRaised | e.ApprovalResolved)  # type: ignore[arg-type]
                if isinstance(event, e.ApprovalResolved):
                    break
        end = await opened.until(e.TaskFinished)
        assert isinstance(end, e.TaskFinished) and end.outcome == "answered"
        assert not [event for event in opened.seen if isinstance(event, e.WorkHeld)]


async def test_a_verdict_given_while_other_work_is_held_counts_once(tmp_path: Path) -> None:
    one = await left(tmp_path, e.ApprovalRequested, BUILD, DONE)
    await one.bus.emit(e.TaskQueued(queue_id="q1", text="double five"))
    one.reopen()
    asked = one.events(e.ApprovalRequested)[0]
    async with Opened(one) as opened:
        await opened.until(e.WorkHeld)
        opened.send(approve(asked) or Continue())
        await opened.until(e.ApprovalResolved)
        end = await opened.until(e.TaskFinished)
        assert isinstance(end, e.TaskFinished) and end.outcome == "answered"
    assert not one.events(e.NoticeRaised)


async def test_held_work_continues_at_once_without_a_person(tmp_path: Path) -> None:
    one = await left(tmp_path, e.ActionChosen, FIND, DONE)
    end = await one.do()
    assert end.outcome == "answered"
