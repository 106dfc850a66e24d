"""Questions to the person, and the pending answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import msgspec

from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import ApprovalPending
from alita_tui.spine.text import one_line


class Questions:
    """Asks questions and receives their answers."""

    def __init__(self, bus: Bus, *, parks: bool, earlier_answer: str = "") -> None:
        """`parks`: no person is attached; `earlier_answer` is for the question that an earlier process left open."""
        self._bus = bus
        self.parks = parks
        self._earlier_answer = earlier_answer
        self.earlier_question = ""
        """The question that `earlier_answer` is for; empty for whichever is waited for first."""
        self.on_wait: Callable[[], None] = lambda: None
        """Called when a task begins to wait for the person."""
        self._answers: dict[str, asyncio.Future[str]] = {}

    async def ask(
        self,
        question_id: str,
        text: str,
        *,
        about: Literal["task", "budget"] = "task",
        choices: tuple[str, ...] = (),
    ) -> str:
        """Ask, and wait for the answer. Raises ApprovalPending if no person is attached."""
        question = e.QuestionAsked(question_id=question_id, text=text, about=about, choices=choices)
        # Created before the event is emitted, because a reader may answer at once.
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        try:
            await self._bus.emit(question, span=question_id)
            return await self._take(question_id, text, choices, answer)
        finally:
            self._answers.pop(question_id, None)

    async def wait(self, question_id: str, text: str = "", choices: tuple[str, ...] = ()) -> str:
        """Return the answer to a question of an earlier process. Raises ApprovalPending if no person is attached."""
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        if self._earlier_answer and self.earlier_question in ("", question_id):
            answer.set_result(self._earlier_answer)
            self._earlier_answer = ""
        try:
            return await self._take(question_id, text, choices, answer)
        finally:
            self._answers.pop(question_id, None)

    async def _take(
        self, question_id: str, text: str, choices: tuple[str, ...], answer: asyncio.Future[str]
    ) -> str:
        if self.parks and not answer.done():
            raise ApprovalPending(
                f"The agent asks: {one_line(text, 300)}",
                hint=f'Answer it: alita answer {self._bus.session_id} "TEXT"',
            )
        if not answer.done():
            self.on_wait()
        reply = _chosen(await answer, choices)
        await self._bus.emit(e.QuestionAnswered(question_id=question_id, text=reply), span=question_id)
        return reply

    async def ask_for_server(self, question: e.ServerQuestion) -> str | None:
        """Ask a server's question; return what was typed, or None if no person is attached.

        With choices, anything else is recorded as a refusal.
        """
        if self.parks:
            return None
        question_id = question.question_id
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        ended = e.ServerQuestionEnded(question_id=question_id, server=question.server, outcome="withdrawn")
        try:
            await self._bus.emit(question, span=question_id)
            reply = _chosen(await answer, question.choices)
            fits = not question.choices or reply in question.choices
            ended = msgspec.structs.replace(ended, text=reply, outcome="answered" if fits else "refused")
            return reply
        finally:
            self._answers.pop(question_id, None)
            await self._bus.emit(ended, span=question_id)

    def answer(self, question_id: str, text: str) -> None:
        """Deliver an answer; one that nothing waits for is ignored."""
        future = self._answers.get(question_id)
        if future is not None and not future.done():
            future.set_result(text)


def _chosen(text: str, choices: tuple[str, ...]) -> str:
    """Return the choice that an answer names by its number; else the answer as it is."""
    number = text.strip().rstrip(".)")
    if number.isascii() and number.isdigit() and 0 < int(number[:3]) <= len(choices):
        return choices[int(number[:3]) - 1]
    return text
