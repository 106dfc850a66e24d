"""What the orchestrator's model is shown, kept within its window.

The conversation is derived from the events. Earlier tasks shrink to their outcome. When the rest does not fit, the
oldest turns are summarised by a model, piece by piece; what still does not fit is left out. The person's words stay.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from importlib.resources import files

import msgspec

from alita_tui import events as e
from alita_tui.agent.compaction import (
    OBSERVATION,
    SUMMARY,
    Trimmed,
    fit,
    oldest,
    saves_enough,
    size,
    summarised,
    trim,
)
from alita_tui.agent.context import Conversation, Entry
from alita_tui.agent.earlier import EarlierTasks
from alita_tui.agent.estimate import MARGIN, worst
from alita_tui.agent.tokens import tokens_in
from alita_tui.events import Artefact
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.context import BLOCKS, off
from alita_tui.spine.ports.models import Asker, Message, ModelRequest
from alita_tui.spine.text import clip

UNKNOWN_WINDOW = 32_000
"""Tokens that a model is taken to read where nobody says."""
_FULL = 0.9
"""Share of the window from which a summary is tried."""
_AGAIN = 12
"""New turns after a summary was refused until another one is tried."""
_SUMMARY_TOKENS = 2_000
_FRAME = 80
"""Tokens around a piece."""
_PIECES = 12
"""Pieces that one summary is made from at most; what is older than that is left to what fits."""


class _Thread:
    """The turns of one task, and of those that continue it."""

    def __init__(self, files: dict[str, Artefact], began: int, agent_id: str = "") -> None:
        """`files` are those of the session by handle; `began` is the event with which it begins."""
        self.conversation = Conversation(files, agent_id)
        self.agent_id = agent_id
        self.summary: e.ContextSummarised | None = None
        self.began = began
        self.chain: set[str] = set()
        self.ended = False


_FOR_ALL = (e.ToolDemoted, e.ToolSuspended, e.FeedbackGiven, e.MemoryForgotten)
"""Said in one task, if in any, and heard by all that go on."""


class Transcript:
    """The turns of a session's tasks, carried on event by event. Each task has a conversation of its own."""

    def __init__(self, defaults: Collection[str] = tuple(BLOCKS)) -> None:
        """`defaults` are the blocks of the context that are on where the person switched nothing."""
        self._defaults = defaults
        self._switches: dict[str, bool] = {}
        self._threads: list[_Thread] = []
        self._of_task: dict[str, _Thread] = {}
        self._of_agent: dict[str, _Thread] = {}
        """Of those agents that a part of a task was handed to."""
        self._newest: tuple[_Thread, ...] = ()
        """Of the task that was submitted last, if any was."""
        self._files: dict[str, Artefact] = {}
        self._earlier = EarlierTasks()
        self._heard = 0

    def hear(self, history: Sequence[Envelope]) -> None:
        """Take in what is new."""
        while self._heard < len(history):
            envelope = history[self._heard]
            self._heard += 1
            self._earlier.hear(envelope)
            match envelope.event:
                case e.TaskSubmitted(task_id=task_id, again=again):
                    self._begin(task_id, again, envelope.seq or 0)
                case e.AgentStarted(agent_id=agent_id):
                    own = self._of_agent[agent_id] = _Thread(self._files, envelope.seq or 0, agent_id)
                    own.conversation.hear(envelope)
                case e.ArtefactAdded(artefact=file):
                    self._files[file.handle] = file
                case e.ContextSwitched(block=block, on=on):
                    self._switches[block] = on
                case _:
                    pass
            for thread in self._hearers(envelope):
                thread.conversation.hear(envelope)
                match envelope.event:
                    case e.ContextSummarised() as summary:
                        thread.summary = summary
                    case e.TaskFinished(outcome=outcome):
                        thread.ended = outcome not in ("parked", "budget")
                    case _:
                        pass

    def _begin(self, task_id: str, again: str, seq: int) -> None:
        """A task that is taken up again is shown from where it first began."""
        thread = self._of_task.get(again) if again else None
        if thread is None:
            thread = _Thread(self._files, seq)
            self._threads.append(thread)
        thread.chain.add(task_id)
        thread.ended = False
        self._of_task[task_id] = thread
        self._newest = (thread,)

    def _hearers(self, envelope: Envelope) -> Collection[_Thread]:
        """Return the threads that an event is told in: its task's; without a task, all that go on."""
        event = envelope.event
        if envelope.schema_version == 1:  # one task at a time
            return self._newest
        if isinstance(event, e.MemoryForgotten):
            return self._threads
        if envelope.delegate:
            agent = self._of_agent.get(envelope.delegate)
            return (agent,) if agent is not None else ()
        own = self._of_task.get(envelope.task_id or getattr(event, "task_id", ""))
        if envelope.task_id and not isinstance(event, _FOR_ALL):
            return (own,) if own is not None else ()
        return [thread for thread in self._threads if not thread.ended or thread is own]

    def observation(self, seq: int, agent_id: str = "") -> str:
        """Return what an event brought, of whichever task; empty where it brought nothing.

        An agent that was handed a part is told of its own alone.
        """
        own = (self._of_agent[agent_id],) if agent_id in self._of_agent else ()
        for thread in own if agent_id else (*self._threads, *self._of_agent.values()):
            if thread.began <= seq:
                for entry in thread.conversation.entries():
                    if entry.seq == seq and entry.message.role == "tool":
                        return entry.message.text
        return ""

    @property
    def off(self) -> frozenset[str]:
        """The blocks of the context that are off."""
        return off(self._defaults, self._switches)

    def shown(self, task_id: str = "", agent_id: str = "") -> tuple[Entry, ...]:
        """Return the turns of a task, by default the newest, and what stands for those before; no block that is off.

        Of an agent that was handed a part, its own turns and nothing else.
        """
        if agent_id:
            agent = self._of_agent.get(agent_id)
            entries = agent.conversation.entries() if agent else ()
            known = agent.summary if agent else None
            return summarised(entries, known.upto, known.text) if known else entries
        thread = self._of_task.get(task_id) if task_id else next(iter(self._newest), None)
        if thread is None:
            return ()
        hidden = self.off
        turns = (*self._earlier.before(thread.chain, thread.began), *thread.conversation.entries())
        entries = tuple(entry for entry in turns if entry.message.role != "user" or entry.name not in hidden)
        if thread.summary is None:
            return entries
        return summarised(entries, thread.summary.upto, thread.summary.text)


def room_for(request: ModelRequest, window: int) -> int:
    """Return the tokens that a conversation may have beside the rest of a request."""
    window = window or UNKNOWN_WINDOW
    left = window - worst(request).input_tokens - min(request.max_tokens, window // 4)
    return max(int(left / MARGIN), 0)


def fitted(entries: Sequence[Entry], room: int) -> Trimmed:
    """Return what is sent of these turns."""
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

        `defaults`: see `Transcript`.
        """
        self._bus = bus
        self._asker = asker
        self._window = window
        self._summariser_window = summariser_window or window
        self._seat_window = seat_window or (lambda _: window())
        self._prompt = files("alita_tui.agent.prompts").joinpath("summariser.md").read_text("utf-8")
        self._transcript = Transcript(defaults)
        self._guard = threading.Lock()  # a cancelled call leaves its thread behind
        self._told: dict[tuple[str, str], tuple[object, ...]] = {}
        """Task and agent -> what was said of how its conversation was cut."""
        self._refused_at: dict[tuple[str, str], int] = {}
        """Task and agent -> how long its conversation was when a summary was tried last."""

    async def fill(self, request: ModelRequest) -> ModelRequest:
        """The request with the conversation in it; raises what asking for a summary raises."""
        lead = request.role == "orchestrator"
        room = room_for(request, self._window() if lead else self._seat_window(request.seat or request.role))
        # In a thread: a long session takes a while.
        entries = await asyncio.to_thread(self.entries)
        trimmed = await asyncio.to_thread(trim, entries, room)
        if trimmed.tokens_after > _FULL * room and await self._summarise(entries):
            entries = self.entries()
            trimmed = await asyncio.to_thread(trim, entries, room)
        if trimmed.tokens_after > room:
            trimmed = await asyncio.to_thread(fit, trimmed, room)
        told = (trimmed.masked, trimmed.shortened, trimmed.left_out)
        whose = _whose()
        if told != self._told.get(whose, ((), (), 0)) and any(told):
            await self._bus.emit(
                e.ContextTrimmed(
                    masked=trimmed.masked,
                    shortened=trimmed.shortened,
                    left_out=trimmed.left_out,
                    tokens_before=trimmed.tokens_before,
                    tokens_after=trimmed.tokens_after,
                )
            )
        self._told[whose] = told
        return msgspec.structs.replace(request, messages=trimmed.messages)

    def entries(self) -> tuple[Entry, ...]:
        """The conversation of the present task, with what stands for what was before."""
        with self._guard:
            self._transcript.hear(self._bus.history)
            return self._transcript.shown(*_whose())

    def again(self, seq: int, offset: int) -> str:
        """The observation of one event, from a character on; empty when there is none."""
        with self._guard:
            self._transcript.hear(self._bus.history)
            rest = self._transcript.observation(seq, origin.delegate())[offset:]
        more = len(rest) - OBSERVATION // 2
        if more <= 0:
            return rest
        return f"{rest[: OBSERVATION // 2]}\n({more} characters follow: offset {offset + OBSERVATION // 2})"

    async def _summarise(self, entries: tuple[Entry, ...]) -> bool:
        """Have the oldest turns summarised; False where that is not worth it or does not work."""
        whose = _whose()
        if len(entries) < self._refused_at.get(whose, -_AGAIN) + _AGAIN:
            return False
        last = oldest(entries)
        covered = [entry for entry in entries[:last] if entry.message.role != "user" or entry.name == SUMMARY]
        total, before = (size([entry.message for entry in some]) for some in (entries, covered))
        self._refused_at[whose] = len(entries)
        if not covered or not saves_enough(total, before, 0):
            return False
        told = [f"{entry.message.role} {entry.name}: {_said(entry.message)}" for entry in covered]
        try:
            text = await self._summary_of(told)
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

    async def _summary_of(self, told: list[str]) -> str:
        """Return a summary of a record, asked for in pieces that fit the summariser. Raises ModelError."""
        window = self._summariser_window() or UNKNOWN_WINDOW
        asked = ModelRequest(
            role="summariser", system=self._prompt, messages=(), max_tokens=min(_SUMMARY_TOKENS, window // 4)
        )
        room = room_for(asked, window) - _FRAME
        pieces = _pieces(told, room)
        if len(pieces) > 1:  # each but the first goes with the summary so far
            pieces = _pieces(told, room - asked.max_tokens)[-_PIECES:]
        summary = ""
        for piece in pieces:
            before = f"What was summarised so far:\n{summary}\n\nThe record goes on:\n" if summary else ""
            message = Message(role="user", text=before + piece)
            summary = (await self._asker.ask(msgspec.structs.replace(asked, messages=(message,)))).text
        return summary


def _whose() -> tuple[str, str]:
    return origin.current().task_id, origin.delegate()


def _pieces(told: list[str], room: int) -> list[str]:
    """Return a record in pieces of at most so many tokens, each of whole turns."""
    pieces: list[str] = []
    current: list[str] = []
    used = 0
    for text in told:
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


def _said(message: Message) -> str:
    calls = "\n".join(f"{call.name}({call.arguments})" for call in message.requests)
    text = message.text if message.role != "tool" else message.text[:1500]
    return "\n".join(filter(None, (text, calls)))
