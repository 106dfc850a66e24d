"""Questions to the person, and the answers that somebody waits for."""

from __future__ import annotations

import asyncio
from typing import Literal

from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import ModelError


class Questions:
    """Where questions are asked and their answers come in."""

    def __init__(self, bus: Bus, *, parks: bool) -> None:
        """`parks`: nobody is there to answer."""
        self._bus = bus
        self.parks = parks
        self._answers: dict[str, asyncio.Future[str]] = {}

    async def ask(self, question_id: str, text: str, *, about: Literal["task", "budget"] = "task") -> str:
        """Ask, and wait for the answer. Raises what `wait` raises."""
        asked = e.QuestionAsked(question_id=question_id, text=text, about=about)
        # Before it is emitted: whoever reads the event may answer at once.
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        try:
            await self._bus.emit(asked, span=question_id)
            return await self._take(question_id, answer)
        finally:
            self._answers.pop(question_id, None)

    async def wait(self, question_id: str) -> str:
        """The answer to what was asked. Raises ModelError where nobody can give one."""
        answer = self._answers[question_id] = asyncio.get_running_loop().create_future()
        try:
            return await self._take(question_id, answer)
        finally:
            self._answers.pop(question_id, None)

    async def _take(self, question_id: str, answer: asyncio.Future[str]) -> str:
        if self.parks:
            raise ModelError(
                "unavailable",
                "The agent asks a question and nobody can answer here.",
                hint="Open the session in the console: `alita --session ID`.",
            )
        text = await answer
        await self._bus.emit(e.QuestionAnswered(question_id=question_id, text=text), span=question_id)
        return text

    def answer(self, question_id: str, text: str) -> None:
        """Hand an answer in; one that nobody waits for is passed over."""
        future = self._answers.get(question_id)
        if future is not None and not future.done():
            future.set_result(text)
