"""Questions to the person: an answer counts from the moment at which the question can be read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.questions import Questions
from alita_tui.spine.commands import AnswerQuestion, Command
from tests.agent.lab import Lab, conversation, say
from tests.agent.replies import DONE, TASK, rules


class Eager:
    """A bus with a reader who answers a question before the emitting of it has returned."""

    def __init__(self) -> None:
        self.person: Questions

    async def emit(self, event: Any, *, span: str = "") -> None:
        if isinstance(event, e.QuestionAsked):
            self.person.answer(event.question_id, "42")
            await asyncio.sleep(0)


async def test_an_answer_at_once_is_not_lost() -> None:
    bus = Eager()
    bus.person = Questions(bus, parks=False)  # type: ignore[arg-type]
    async with asyncio.timeout(180):
        assert await bus.person.ask("q1", "How many?") == "42"


async def test_an_answer_to_a_withdrawn_question_is_ignored() -> None:
    bus = Eager()
    bus.person = Questions(bus, parks=False)  # type: ignore[arg-type]
    waiting = asyncio.create_task(bus.person.wait("q1"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    bus.person.answer("q1", "42")


ASK = say("ask_user", question="Which four?", choices=["the first", "the last"])


@pytest.mark.parametrize(
    ("said", "heard"),
    [("2", "the last"), ("1.", "the first"), ("3", "3"), ("neither", "neither"), ("²", "²")],
)
async def test_a_choice_may_be_named_by_its_number(tmp_path: Path, said: str, heard: str) -> None:
    lab = Lab(tmp_path, rules=rules(ASK, DONE))

    def reply(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.QuestionAsked):
            assert event.choices == ("the first", "the last")
            return AnswerQuestion(question_id=event.question_id, text=said)
        return None

    assert (await lab.do(TASK, when=reply)).outcome == "answered"
    assert lab.events(e.QuestionAnswered)[0].text == heard
    assert "Which four? (1: the first, 2: the last)" in [row.title for row in lab.view.trace]


async def test_without_a_person_a_question_parks_its_task_and_an_answer_continues_it(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=rules(say("find_tool", query="four"), ASK, DONE), parks=True)
    ended = await lab.do(TASK)
    assert (ended.outcome, ended.reason) == ("parked", "The agent asks: Which four?")
    assert f"alita answer {lab.bus.session_id}" in ended.hint
    shown = lab.view.question
    assert shown is not None and "2: the last" in shown.text
    lab.reopen()
    assert (await lab.do()).outcome == "parked"  # it is resumed without an answer: it still waits
    lab.given = "2"
    lab.reopen()
    assert (await lab.do()).outcome == "answered"
    assert len(lab.events(e.QuestionAsked)) == 1 and lab.view.question is None
    assert [entry.message.text for entry in conversation(lab.bus.history) if entry.name == "ask_user"] == [
        "The person answered: the last"
    ]


async def test_an_answer_is_for_the_question_that_was_open_and_for_no_other(tmp_path: Path) -> None:
    again = say("ask_user", question="Really?")
    lab = Lab(tmp_path, rules=rules(ASK, again, DONE), parks=True)
    await lab.do(TASK)
    lab.given = "1"
    lab.reopen()
    ended = await lab.do()
    assert (ended.outcome, ended.reason) == ("parked", "The agent asks: Really?")
    assert [one.text for one in lab.events(e.QuestionAnswered)] == ["the first"]
