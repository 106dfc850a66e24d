"""The conversation that the orchestrator's model sees, kept within its window.

When the conversation does not fit, its oldest turns are summarised by a model, piece by piece; what still does not fit
is left out. The person's words stay.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence

import msgspec

from alita_tui import events as e
from alita_tui.agent.compaction import OBSERVATION, SUMMARY, Trimmed, fit, oldest, saves_enough, size, trim
from alita_tui.agent.conversation import Entry
from alita_tui.agent.prompt import prompt_text
from alita_tui.agent.tokens import MARGIN, tokens_in, worst
from alita_tui.agent.transcript import Transcript
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.context import BLOCKS
from alita_tui.spine.ports.models import Asker, Message, ModelRequest
from alita_tui.spine.text import clip

UNKNOWN_WINDOW = 32_000
"""Assumed window, in tokens, of a model whose window is unknown."""
_FULL = 0.9
"""Share of the window from which a summary is tried."""
_AGAIN = 12
"""New turns after a rejected summary until the next attempt."""
_SUMMARY_TOKENS = 2_000
_FRAME = 80
"""Tokens around a piece."""
_PIECES = 12
"""Pieces that one summary is made from at most; what is older than that is left to what fits."""


def room_for(request: ModelRequest, window: int) -> int:
    """Return the tokens that the rest of a request leaves for the conversation."""
    window = window or UNKNOWN_WINDOW
    remaining = window - worst(request).input_tokens - min(request.max_tokens, window // 4)
    return max(int(remaining / MARGIN), 0)


def fitted(entries: Sequence[Entry], room: int) -> Trimmed:
    """Return the turns that are sent."""
    trimmed = trim(entries, room)
    return fit(trimmed, room) if trimmed.tokens_after > room else trimmed


class WorkingContext:
    """What the orchestrator's model is shown of the session."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        window: Callable[[], int],
        summariser_window: Callable[[], int] | None = None,
        defaults: Collection[str] = tuple(BLOCKS),
        seat_window: Callable[[str], int] | None = None,
    ) -> None:
        """The windows say how many tokens the next model of the role, or of a seat, reads; 0 when not known.

        `defaults` are the context blocks that are on unless the person switched them off.
        """
        self._bus = bus
        self._asker = asker
        self._window = window
        self._summariser_window = summariser_window or window
        self._seat_window = seat_window or (lambda _: window())
        self._prompt = prompt_text("summariser")
        self._transcript = Transcript(defaults)
        self._guard = threading.Lock()  # because a cancelled call leaves its thread running
        self._reported_cuts: dict[tuple[str, str], tuple[object, ...]] = {}
        """Task and agent -> the cuts of its conversation that were reported."""
        self._refused_at: dict[tuple[str, str], int] = {}
        """Task and agent -> how long its conversation was when a summary was tried last."""

    async def fill(self, request: ModelRequest) -> ModelRequest:
        """Return the request with the conversation filled in. Raises what asking for a summary raises."""
        lead = request.role == "orchestrator"
        room = room_for(request, self._window() if lead else self._seat_window(request.seat or request.role))
        # In a thread, because a long session takes a while.
        entries = await asyncio.to_thread(self.entries)
        trimmed = await asyncio.to_thread(trim, entries, room)
        if trimmed.tokens_after > _FULL * room and await self._summarise(entries):
            entries = self.entries()
            trimmed = await asyncio.to_thread(trim, entries, room)
        if trimmed.tokens_after > room:
            trimmed = await asyncio.to_thread(fit, trimmed, room)
        cuts = (trimmed.masked, trimmed.shortened, trimmed.left_out)
        agent_key = _current_agent()
        if cuts != self._reported_cuts.get(agent_key, ((), (), 0)) and any(cuts):
            await self._bus.emit(
                e.ContextTrimmed(
                    masked=trimmed.masked,
                    shortened=trimmed.shortened,
                    left_out=trimmed.left_out,
                    tokens_before=trimmed.tokens_before,
                    tokens_after=trimmed.tokens_after,
                )
            )
        self._reported_cuts[agent_key] = cuts
        return msgspec.structs.replace(request, messages=trimmed.messages)

    def end(self) -> None:
        """Forget which cuts were reported for the present task."""
        task_id = origin.current().task_id
        self._reported_cuts = {
            agent_key: cuts for agent_key, cuts in self._reported_cuts.items() if agent_key[0] != task_id
        }
        self._refused_at = {
            agent_key: at for agent_key, at in self._refused_at.items() if agent_key[0] != task_id
        }

    def entries(self) -> tuple[Entry, ...]:
        """Return the present task's conversation, after the summary of earlier tasks."""
        with self._guard:
            self._transcript.read(self._bus.history)
            return self._transcript.shown(*_current_agent())

    def again(self, seq: int, offset: int) -> str:
        """Return one event's observation from a character on; empty if it has none."""
        with self._guard:
            self._transcript.read(self._bus.history)
            text = self._transcript.observation(seq, origin.delegate())[offset:]
        more = len(text) - OBSERVATION // 2
        if more <= 0:
            return text
        return f"{text[: OBSERVATION // 2]}\n({more} characters follow: offset {offset + OBSERVATION // 2})"

    async def _summarise(self, entries: tuple[Entry, ...]) -> bool:
        """Have the oldest turns summarised; return False if that is not worth it or fails."""
        agent_key = _current_agent()
        if len(entries) < self._refused_at.get(agent_key, -_AGAIN) + _AGAIN:
            return False
        last = oldest(entries)
        covered = [entry for entry in entries[:last] if entry.message.role != "user" or entry.name == SUMMARY]
        total, before = (size([entry.message for entry in part]) for part in (entries, covered))
        self._refused_at[agent_key] = len(entries)
        if not covered or not saves_enough(total, before, 0):
            return False
        turns = [f"{entry.message.role} {entry.name}: {_text_of(entry.message)}" for entry in covered]
        try:
            text = await self._summary_of(turns)
        except ModelError:
            return False  # it is on the stream; without a summary the call is longer
        after = size([Message(role="user", text=text)])
        if not saves_enough(total, before, after):
            return False
        upto = entries[last - 1].seq
        await self._bus.emit(
            e.ContextSummarised(upto=upto, text=text, tokens_before=before, tokens_after=after)
        )
        return True

    async def _summary_of(self, turns: list[str]) -> str:
        """Return a summary of a record, asked for in pieces that fit the summariser. Raises ModelError."""
        window = self._summariser_window() or UNKNOWN_WINDOW
        request = ModelRequest(
            role="summariser", system=self._prompt, messages=(), max_tokens=min(_SUMMARY_TOKENS, window // 4)
        )
        room = room_for(request, window) - _FRAME
        pieces = _pieces(turns, room)
        if len(pieces) > 1:  # each but the first goes with the summary so far
            pieces = _pieces(turns, room - request.max_tokens)[-_PIECES:]
        summary = ""
        for piece in pieces:
            before = f"What was summarised so far:\n{summary}\n\nThe record goes on:\n" if summary else ""
            message = Message(role="user", text=before + piece)
            summary = (await self._asker.ask(msgspec.structs.replace(request, messages=(message,)))).text
        return summary


def _current_agent() -> tuple[e.TaskId, e.AgentId]:
    return origin.current().task_id, origin.delegate()


def _pieces(turns: list[str], room: int) -> list[str]:
    """Return a record in pieces of at most so many tokens, each of whole turns."""
    pieces: list[str] = []
    current: list[str] = []
    used = 0
    for text in turns:
        tokens = tokens_in(text)
        while tokens > max(room, 200) and len(text) > 400:  # one turn alone is too much
            text = clip(text, len(text) // 2)[0]
            tokens = tokens_in(text)
        if current and used + tokens > room:
            pieces.append("\n\n".join(current))
            current, used = [], 0
        current.append(text)
        used += tokens + 2
    return [*pieces, "\n\n".join(current)]


def _text_of(message: Message) -> str:
    calls = "\n".join(f"{call.name}({call.arguments})" for call in message.requests)
    text = message.text if message.role != "tool" else message.text[:1500]
    return "\n".join(filter(None, (text, calls)))
