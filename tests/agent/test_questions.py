"""Questions to the person: an answer counts from the moment at which the question can be read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.questions import Questions


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
    async with asyncio.timeout(5):
        assert await bus.person.ask("q1", "How many?") == "42"


async def test_an_answer_to_what_nobody_asks_any_more_is_passed_over() -> None:
    bus = Eager()
    bus.person = Questions(bus, parks=False)  # type: ignore[arg-type]
    waiting = asyncio.create_task(bus.person.wait("q1"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    bus.person.answer("q1", "42")
