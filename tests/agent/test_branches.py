"""Builds that are put off: the agent goes on without them, other tasks run, and nothing of them is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.events import Decision, Lasting, Lock
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import (
    AnswerQuestion,
    CloseSession,
    Command,
    Interrupt,
    PutOff,
    ResolveApproval,
    Steer,
    SubmitTask,
)
from tests.agent.lab import Lab, conversation, draft, say

TASK = SubmitTask(text="double four")
OTHER = SubmitTask(text="say hello")
BUILD = say("build_tool", "build it", name="double_it", goal="Double any whole number.")
LOOK = say("find_tool", "what else is there", query="triple")
WAIT = say("wait", "nothing is left to do")
RUN = say("run_tool", name="double_it", arguments={"x": 4})
DONE = say("answer", text="eight")
HELLO = say("answer", text="hello")


def lab(
    folder: Path,
    *replies: ScriptReply,
    again: tuple[ScriptReply, ...] = (RUN, DONE),
    other: tuple[ScriptReply, ...] = (HELLO,),
    parks: bool = False,
) -> Lab:
    return Lab(
        folder,
        rules=[
            Rule(role="orchestrator", match=r"TASK \(taken up again.*double four", replies=again),
            Rule(role="orchestrator", match="TASK: double four", replies=replies),
            Rule(role="orchestrator", match="TASK: say hello", replies=other),
            Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
        ],
        parks=parks,
    )


def verdict(asked: e.ApprovalRequested, what: Decision, lasting: Lasting = "library") -> ResolveApproval:
    return ResolveApproval(
        approval_id=asked.approval_id,
        digest=asked.digest,
        verdict=e.Verdict(decision=what, reason="no", lasting=lasting),
    )


class Person:
    """Puts the first build off, and decides on it when something else has happened."""

    def __init__(
        self,
        decides: Callable[[e.SessionEvent], bool],
        what: Decision = "approved",
        lasting: Lasting = "library",
    ) -> None:
        self.decides = decides
        self.what = what
        self.lasting: Lasting = lasting
        self.asked: e.ApprovalRequested | None = None

    def __call__(self, event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.ApprovalRequested):
            self.asked = event
            return PutOff(approval_id=event.approval_id)
        if self.asked is not None and self.decides(event):
            asked, self.asked = self.asked, None
            return verdict(asked, self.what, self.lasting)
        return None


def waits(event: e.SessionEvent) -> bool:
    return isinstance(event, e.ActionChosen) and event.action == "wait"


def ended(outcome: str) -> Callable[[e.SessionEvent], bool]:
    return lambda event: isinstance(event, e.TaskFinished) and event.outcome == outcome


def story(one: Lab) -> list[str]:
    """The order of what matters here."""
    told: list[str] = []
    for envelope in one.bus.history:
        match envelope.event:
            case e.TaskSubmitted(text=text, again=again):
                told.append(f"{text}{' again' if again else ''}")
            case e.ActionChosen(action=action):
                told.append(action)
            case e.BuildPutOff():
                told.append("put off")
            case e.ApprovalResolved(verdict=given):
                told.append(given.decision)
            case e.TaskFinished(outcome=outcome):
                told.append(f"→ {outcome}")
            case _:
                pass
    return told


async def test_the_agent_continues_without_a_postponed_build_and_waits_for_it_last(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path, BUILD, LOOK, WAIT, RUN, DONE)
    last = await one.do(TASK, when=Person(waits))
    assert last.outcome == "answered"
    assert story(one) == [
        "double four", "build_tool", "put off", "find_tool", "wait", "approved", "run_tool", "answer", "→ answered",
    ]  # fmt: skip
    assert [event.report.result for event in one.events(e.ToolReturned)] == [4]
    told = [entry.message for entry in conversation(one.bus.history)]
    assert [m.text for m in told if m.role == "tool" and "no verdict yet" in m.text]
    assert [m.text for m in told if m.role == "user" and "About the build of double_it: Approved" in m.text]
    asked = {request.call_id for message in told for request in message.requests}
    assert {m.call_id for m in told if m.role == "tool"} == asked, "every request has one result"


async def test_a_verdict_before_the_agent_waits_reaches_it_at_once(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, LOOK, WAIT, RUN, DONE)
    last = await one.do(TASK, when=Person(lambda event: isinstance(event, e.ToolSearched)))
    assert last.outcome == "answered"
    assert one.events(e.ToolReturned)


@pytest.mark.parametrize("what", ["rejected", "banned"])
async def test_rejecting_a_postponed_build_reaches_the_agent_and_leaves_a_lesson(
    tmp_path: Path, what: Decision
) -> None:
    one = lab(tmp_path, BUILD, WAIT, DONE)
    last = await one.do(TASK, when=Person(waits, what))
    assert last is not None and (last.outcome, last.answer) == ("rejected", "eight")
    assert not one.shelf.cards()
    assert any("was rejected" in event.item.text for event in one.events(e.MemoryWritten))


async def test_stopping_at_a_postponed_build_ends_the_task(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, WAIT, DONE)
    last = await one.do(TASK, when=Person(waits, "stopped"))
    assert last.outcome == "interrupted"


async def test_another_task_runs_while_the_first_waits_and_the_first_is_resumed(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path, BUILD, WAIT)
    person = Person(ended("answered"))

    def when(event: e.SessionEvent) -> Command | None:
        return OTHER if waits(event) else person(event)

    last = await one.do(TASK, when=when)
    assert last.outcome == "answered"
    assert story(one) == [
        "double four", "build_tool", "put off", "wait", "→ parked",
        "say hello", "answer", "→ answered",
        "approved", "double four again", "run_tool", "answer", "→ answered",
    ]  # fmt: skip
    assert one.view.tasks[0].outcome == "parked"
    assert one.view.tasks[2].again == one.view.tasks[0].task_id
    assert one.view.phase == "idle"


async def test_a_task_answered_without_its_postponed_build_may_still_add_the_tool(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path, BUILD, DONE)
    last = await one.do(TASK, when=Person(ended("answered")))
    assert last.outcome == "answered"
    assert [card.name for card in one.shelf.cards()] == ["double_it"]
    assert one.view.phase == "idle"


async def test_a_tool_approved_for_a_parked_task_runs_for_no_other_task(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, WAIT, other=(say("ask_user", question="how?"), RUN, HELLO))
    person = Person(lambda event: isinstance(event, e.QuestionAsked), lasting="task")
    asked = ""

    def when(event: e.SessionEvent) -> Command | None:
        nonlocal asked
        if isinstance(event, e.QuestionAsked):
            asked = event.question_id
        if isinstance(event, e.ToolRegistered):
            return AnswerQuestion(question_id=asked, text="kindly")
        return OTHER if waits(event) else person(event)

    last = await one.do(TASK, when=when)
    assert last.outcome == "answered"
    assert story(one)[-8:] == [
        "approved", "run_tool", "answer", "→ answered", "double four again", "run_tool", "answer", "→ answered",
    ]  # fmt: skip
    assert "for another task alone" in one.events(e.ActionFailed)[0].text
    assert len(one.events(e.ToolCalled)) == 1
    assert one.view.library == one.shelf.cards() == ()


async def test_an_interrupt_withdraws_the_postponed_build_of_its_own_task_only(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, WAIT)
    asked: list[e.ApprovalRequested] = []

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.ApprovalRequested):
            asked.append(event)
            return PutOff(approval_id=event.approval_id)
        if isinstance(event, e.ApprovalResolved):
            return verdict(asked[0], "approved")
        return Interrupt() if waits(event) else None

    last = await one.do(TASK, when=when)
    assert last.outcome == "interrupted"
    assert [event.verdict.decision for event in one.events(e.ApprovalResolved)] == ["withdrawn"]
    assert not one.shelf.cards(), "a verdict after that changes nothing"


async def test_a_message_of_the_person_ends_the_waiting(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, WAIT, DONE)
    person = Person(ended("answered"))
    last = await one.do(TASK, when=lambda event: Steer(text="never mind") if waits(event) else person(event))
    assert last.outcome == "answered"
    assert [
        m.text for m in (one_.message for one_ in conversation(one.bus.history)) if "never mind" in m.text
    ]


async def test_waiting_for_nothing_is_an_error_that_the_agent_reads(tmp_path: Path) -> None:
    one = lab(tmp_path, WAIT, DONE)
    last = await one.do(TASK)
    assert last.outcome == "answered"
    assert "No build waits" in one.events(e.ActionFailed)[0].text


async def test_postponing_a_decided_build_changes_nothing(tmp_path: Path) -> None:
    one = lab(tmp_path, BUILD, RUN, DONE)

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.ApprovalRequested):
            return verdict(event, "approved")
        return PutOff(approval_id=event.approval_id) if isinstance(event, e.ApprovalResolved) else None

    last = await one.do(PutOff(approval_id="nothing"), TASK, when=when)
    assert last.outcome == "answered"
    assert not one.events(e.BuildPutOff)


async def test_without_a_person_a_postponed_build_parks_the_task_once_nothing_else_is_left(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path, BUILD, WAIT, RUN, DONE)
    await one.play(TASK, when=lambda event: CloseSession() if waits(event) else Person(waits)(event))
    one.parks = True
    for _ in range(3):  # without news there is nothing to ask the model
        one.reopen()
        last = await one.do()
        assert last.outcome == "parked"
    assert story(one).count("wait") == 1
    (asked,) = one.desk.pending()
    one.desk.leave(asked.approval_id, verdict(one.events(e.ApprovalRequested)[-1], "approved"))
    one.reopen()
    last = await one.do()
    assert last.answer == "eight"


async def test_a_crash_after_any_event_loses_no_build_and_no_parked_task(tmp_path: Path) -> None:
    whole = lab(tmp_path / "whole", BUILD, WAIT)
    person = Person(ended("answered"))
    await whole.do(TASK, when=lambda event: OTHER if waits(event) else person(event))
    history = list(whole.bus.history)
    made = whole.events(e.BuildDrafted)[0]
    first = next(n for n, one in enumerate(history) if isinstance(one.event, e.BuildPutOff)) + 1
    for cut in range(first, len(history) + 1):
        one = lab(
            tmp_path / str(cut), BUILD, WAIT, WAIT, RUN, DONE, again=(RUN, DONE, DONE), other=(HELLO, HELLO)
        )
        for envelope in history[:cut]:
            await one.file.record(envelope, barrier=False)
            if isinstance(envelope.event, e.ToolRegistered):
                approval_id = envelope.event.approval_id
                one.shelf.register(
                    made.draft, Lock(), approval_id=approval_id, digest=made.digest, sources=()
                )
        one.file.close()
        for parked in one.desk.pending():
            given = ResolveApproval(
                approval_id=parked.approval_id, digest=parked.digest, verdict=e.Verdict(decision="approved")
            )
            one.desk.leave(parked.approval_id, given)
        one.reopen()
        await one.do()
        assert [card.name for card in one.shelf.cards()] == ["double_it"], cut
        assert len(one.events(e.ToolCalled)) <= 1, cut
        tasks = {"double four"} | ({"say hello"} & {*story(one)})
        assert story(one).count("→ answered") == len(tasks), (cut, story(one))
        one.file.close()


async def test_a_withdrawn_build_adds_no_tool_and_no_lesson_and_does_not_end_the_task(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path, BUILD, DONE)
    last = await one.do(
        TASK,
        when=lambda event: verdict(event, "withdrawn") if isinstance(event, e.ApprovalRequested) else None,
    )
    assert last.outcome == "answered"
    assert not one.shelf.cards()
    written = [written.item.text for written in one.events(e.MemoryWritten)]
    assert not [text for text in written if "rejected" in text], "a withdrawal is no lesson"
    told = [one_.message.text for one_ in conversation(one.bus.history)]
    assert any("withdrew this build" in text for text in told)
