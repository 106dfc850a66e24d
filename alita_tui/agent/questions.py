"""Questions to the person, and the answers that somebody waits for."""

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
    """Where questions are asked and their answers come in."""

    def __init__(self, bus: Bus, *, parks: bool, given: str = "") -> None:
        """`parks`: nobody is there to answer. `given` answers the question that an earlier process left open."""
        self._bus = bus
        self.parks = parks
        self._given = given
        self.answered = ""
        """The question that `given` answers; empty: whichever is waited for first."""
        self.waits: Callable[[], None] = lambda: None
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
        """Ask, and wait for the answer. Raises ApprovalPending where nobody can give one."""
        asked = e.QuestionAsked(question_id=question_id, text=text, about=about, choices=choices)
        # Before it is emitted: whoever reads the event may answer at once.
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        try:
            await self._bus.emit(asked, span=question_id)
            return await self._take(question_id, text, choices, answer)
        finally:
            self._answers.pop(question_id, None)

    async def wait(self, question_id: str, text: str = "", choices: tuple[str, ...] = ()) -> str:
        """Return the answer to what an earlier process asked. Raises ApprovalPending where nobody can give one."""
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        if self._given and self.answered in ("", question_id):
            answer.set_result(self._given)
            self._given = ""
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
            self.waits()
        said = _chosen(await answer, choices)
        await self._bus.emit(e.QuestionAnswered(question_id=question_id, text=said), span=question_id)
        return said

    async def ask_for_server(self, asked: e.ServerQuestion) -> str | None:
        """Ask what a server wants of the person; return what was typed, or None where nobody can answer.

        With choices anything else is no answer, and on record as such.
        """
        if self.parks:
            return None
        question_id = asked.question_id
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        ended = e.ServerQuestionEnded(question_id=question_id, server=asked.server, outcome="withdrawn")
        try:
            await self._bus.emit(asked, span=question_id)
            said = _chosen(await answer, asked.choices)
            fits = not asked.choices or said in asked.choices
            ended = msgspec.structs.replace(ended, text=said, outcome="answered" if fits else "refused")
            return said
        finally:
            self._answers.pop(question_id, None)
            await self._bus.emit(ended, span=question_id)

    def answer(self, question_id: str, text: str) -> None:
        """Hand an answer in; one that nobody waits for is passed over."""
        future = self._answers.get(question_id)
        if future is not None and not future.done():
            future.set_result(text)


def _chosen(text: str, choices: tuple[str, ...]) -> str:
    """Return the choice that an answer names by its number; else the answer as it is."""
    number = text.strip().rstrip(".)")
    if number.isascii() and number.isdigit() and 0 < int(number[:3]) <= len(choices):
        return choices[int(number[:3]) - 1]
    return text
