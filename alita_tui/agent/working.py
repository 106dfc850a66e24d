"""The working context of a call: built from the stream each time, within the model's window."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from importlib.resources import files

from alita_tui import events as e
from alita_tui.agent.compaction import OBSERVATION, SUMMARY, oldest, saves_enough, size, summarised, trim
from alita_tui.agent.context import Conversation, Entry
from alita_tui.agent.estimate import worst
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Asker, Message, ModelRequest

_UNKNOWN = 32_000
"""Tokens that a model is taken to read where nobody says."""
_FULL = 0.9
"""Share of the window from which a summary is tried."""
_AGAIN = 12
"""New turns after a summary was refused until another one is tried."""


class WorkingContext:
    """What the orchestrator's model is shown of the session."""

    def __init__(self, bus: Bus, asker: Asker, window: Callable[[], int]) -> None:
        """`window` says how many tokens the next model reads; 0 when not known."""
        self._bus = bus
        self._asker = asker
        self._window = window
        self._prompt = files("alita_tui.agent.prompts").joinpath("summariser.md").read_text("utf-8")
        self._conversation = Conversation()
        self._summary: e.ContextSummarised | None = None
        self._heard = 0
        self._guard = threading.Lock()  # a cancelled call leaves its thread behind
        self._told: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        self._refused_at = -_AGAIN

    async def fill(self, request: ModelRequest) -> ModelRequest:
        """The request with the conversation in it; raises what asking for a summary raises."""
        import msgspec

        window = self._window() or _UNKNOWN
        room = window - worst(request).input_tokens - min(request.max_tokens, window // 4)
        # In a thread: a long session takes a while.
        entries = await asyncio.to_thread(self.entries)
        trimmed = await asyncio.to_thread(trim, entries, room)
        if trimmed.tokens_after > _FULL * room and await self._summarise(entries):
            trimmed = await asyncio.to_thread(trim, self.entries(), room)
        told = (trimmed.masked, trimmed.shortened)
        if told != self._told and any(told):
            await self._bus.emit(
                e.ContextTrimmed(
                    masked=trimmed.masked,
                    shortened=trimmed.shortened,
                    tokens_before=trimmed.tokens_before,
                    tokens_after=trimmed.tokens_after,
                )
            )
        self._told = told
        return msgspec.structs.replace(request, messages=trimmed.messages)

    def entries(self) -> tuple[Entry, ...]:
        """The conversation, with the newest summary in place of what it stands for."""
        entries = self._all()
        return summarised(entries, self._summary.upto, self._summary.text) if self._summary else entries

    def _all(self) -> tuple[Entry, ...]:
        history = self._bus.history
        with self._guard:
            while self._heard < len(history):
                envelope = history[self._heard]
                self._heard += 1
                self._conversation.hear(envelope)
                if isinstance(envelope.event, e.ContextSummarised):
                    self._summary = envelope.event
            return self._conversation.entries()

    def again(self, seq: int, offset: int) -> str:
        """The observation of one event, from a character on; empty when there is none."""
        for entry in self._all():
            if entry.seq == seq and entry.message.role == "tool":
                rest = entry.message.text[offset:]
                more = len(rest) - OBSERVATION // 2
                if more <= 0:
                    return rest
                return f"{rest[: OBSERVATION // 2]}\n({more} characters follow: offset {offset + OBSERVATION // 2})"
        return ""

    async def _summarise(self, entries: tuple[Entry, ...]) -> bool:
        """Have the oldest turns summarised; False where that is not worth it or does not work."""
        if len(entries) < self._refused_at + _AGAIN:
            return False
        last = oldest(entries)
        covered = [entry for entry in entries[:last] if entry.message.role != "user" or entry.name == SUMMARY]
        total, before = (size([entry.message for entry in some]) for some in (entries, covered))
        self._refused_at = len(entries)
        if not covered or not saves_enough(total, before, 0):
            return False
        told = "\n\n".join(f"{entry.message.role} {entry.name}: {_said(entry.message)}" for entry in covered)
        try:
            reply = await self._asker.ask(
                ModelRequest(
                    role="summariser",
                    system=self._prompt,
                    messages=(Message(role="user", text=told),),
                    max_tokens=2_000,
                )
            )
        except ModelError:
            return False  # it is on the stream; without a summary the call is longer
        after = size([Message(role="user", text=reply.text)])
        if not saves_enough(total, before, after):
            return False
        upto = entries[last - 1].seq
        await self._bus.emit(
            e.ContextSummarised(upto=upto, text=reply.text, tokens_before=before, tokens_after=after)
        )
        return True


def _said(message: Message) -> str:
    calls = "\n".join(f"{call.name}({call.arguments})" for call in message.requests)
    text = message.text if message.role != "tool" else message.text[:1500]
    return "\n".join(filter(None, (text, calls)))
