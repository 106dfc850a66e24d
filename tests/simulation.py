"""Time that passes only when someone waits, and models that fail by plan: for routing and budgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ModelError, ModelErrorKind
from alita_tui.spine.ports import Delta, ModelRequest, Reply
from alita_tui.spine.values import ToolRequest, Usage


class VirtualTime:
    """A clock and the sleep that moves it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        self.slept += seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


class PlayedModel:
    """Meets `Model`: asks its plan what each call comes to. No sockets, no threads."""

    def __init__(
        self,
        name: str,
        plan: Callable[[], ModelError | None],
        *,
        usd: float | None = 0.01,
        usage: Callable[[ModelRequest], Usage] = lambda _: Usage(input_tokens=100, output_tokens=20),
    ) -> None:
        """`usd` is the price of a thousand tokens."""
        self._name = name
        self._plan = plan
        self._usd = usd
        self._usage = usage
        self.attempts = 0
        self.spent = Usage()
        """What a provider would bill: whole replies only."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def recorded(self) -> bool:
        return False

    def price(self, usage: Usage) -> float | None:
        return None if self._usd is None else (usage.input_tokens + usage.output_tokens) * self._usd / 1000

    async def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.attempts += 1
        await asyncio.sleep(0)
        error = self._plan()
        if error is not None and error.kind != "truncated":
            raise error
        yield Delta(channel="text", text="half")
        yield Delta(channel="arguments", text='{"query": "ha')
        if error is not None:
            raise error
        await asyncio.sleep(0)
        usage = self._usage(request)
        self.spent = Usage(
            input_tokens=self.spent.input_tokens + usage.input_tokens,
            output_tokens=self.spent.output_tokens + usage.output_tokens,
        )
        call = ToolRequest(call_id=f"c{self.attempts}", name="find_tool", arguments={"query": "half a"})
        yield Reply(model=self._name, text="half a", requests=(call,), stop="tool_use", usage=usage)


class Tape:
    """Meets `Recorder` in memory."""

    def __init__(self) -> None:
        self.kept: list[Envelope] = []

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        self.kept.append(envelope)


def fault(kind: ModelErrorKind, retry_after: float | None = None) -> ModelError:
    return ModelError(kind, f"a: it is {kind}", hint="mend it", retry_after=retry_after)
