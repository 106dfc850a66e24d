"""Stores in memory what tasks teach: lessons of rejections, and items of finished tasks.

The archivist is a cheap model that proposes facts when a task ends; memory decides which of them the record confirms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from alita_tui import events as e
from alita_tui.agent.calling import calls_of, items_of
from alita_tui.agent.policy import Policy
from alita_tui.agent.prompt import prompt_text
from alita_tui.agent.tasks import CurrentTask
from alita_tui.agent.tokens import tokens_in
from alita_tui.events import MemoryItem, as_json
from alita_tui.spine.bus import Bus
from alita_tui.spine.fence import fenced
from alita_tui.spine.history import of_kind
from alita_tui.spine.ports.memory import REJECTION, Learn, Memory, ProposedFact
from alita_tui.spine.ports.models import Asker, ToolSpec
from alita_tui.spine.text import clip, one_line

_FAILED: frozenset[e.TaskOutcome] = frozenset(("failed", "stuck", "step_limit"))


class Lessons:
    """Writes to memory, unless the session only tries something out."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        memory: Memory,
        task: CurrentTask,
        policy: Policy,
        *,
        learn: Learn,
        new_id: Callable[[], str],
        encode: Callable[[str], Awaitable[bool]],
        recalls: Callable[[], bool],
    ) -> None:
        """`learn` derives the items of one task from the record. Nothing is recalled while `recalls` returns false.

        `encode` fetches missing vectors from an encoder, and returns whether any arrived.
        """
        self._bus = bus
        self._memory = memory
        self._task = task
        self._learn = learn
        self._new_id = new_id
        self._teaches = policy.teaches
        self._archivist = None if policy.propose_usd is None else Archivist(bus, asker, policy.propose_usd)
        self._recall_tokens = policy.recall_tokens
        self._recalls = recalls
        self._encode = encode

    async def recall(self, task_id: e.TaskId, text: str) -> None:
        """Record what memory knows about a task."""
        if not self._recalls():
            return
        recalled = await asyncio.to_thread(self._memory.recall, text)
        if await self._encode(text):
            recalled = await asyncio.to_thread(self._memory.recall, text)
        # The outcomes of this session's own tasks are in its conversation already.
        own_id = self._bus.session_id
        items = self._within_budget(
            tuple(item for item in recalled if item.memory != "episodic" or item.source_session != own_id)
        )
        await self._bus.emit(e.MemoryRecalled(task_id=task_id, items=items), span=task_id)

    def _within_budget(self, items: tuple[MemoryItem, ...]) -> tuple[MemoryItem, ...]:
        """Return the best items that are short enough together, in their order."""
        remaining, chosen = self._recall_tokens, set()
        for item in sorted(items, key=lambda item: -item.score):
            tokens = tokens_in(item.text) + tokens_in(item.item_id) + 4
            if tokens <= remaining:
                remaining -= tokens
                chosen.add(item.item_id)
        return tuple(item for item in items if item.item_id in chosen)

    async def rejections(self, name: str, goal: str) -> tuple[str, ...]:
        """Return why earlier builds of this kind were rejected; only this session's while nothing is recalled."""
        items = await asyncio.to_thread(self._memory.lessons, name, goal)
        if not self._recalls():
            items = tuple(item for item in items if item.source_session == self._bus.session_id)
        return tuple(item.text for item in items)

    async def note_rejection(self, name: str, goal: str, reason: str) -> None:
        """Remember why a build was rejected."""
        if not self._teaches or not reason:
            return
        item = MemoryItem(
            item_id=f"{REJECTION}{name}:{self._bus.session_id}:{self._new_id()}",
            memory="semantic",
            text=f"A build of {name} ({one_line(goal, 120)}) was rejected: {reason}",
            source_session=self._bus.session_id,
            source_seq=self._bus.last_seq,
        )
        await self._write(item)

    async def finish(self, task_id: e.TaskId, outcome: e.TaskOutcome) -> None:
        """Count a recipe that did not work, and store what the task taught."""
        if self._teaches and outcome in _FAILED and (recipe := self._task.recipe(task_id)):
            await self._bus.save_with(self._memory.recipe_failed, recipe)
        proposed: tuple[ProposedFact, ...] = ()
        if self._teaches and self._archivist is not None and outcome != "interrupted":
            proposed = await self._archivist.propose(task_id)
        await self.remember(task_id, proposed)

    async def remember(self, task_id: e.TaskId, proposed: tuple[ProposedFact, ...] = ()) -> None:
        """Store what a task taught, except for items that an earlier process stored."""
        if not self._teaches:
            return
        stored = {
            (noted.item.memory, noted.item.text) for noted in of_kind(self._task.events(), e.MemoryWritten)
        }
        for item in await asyncio.to_thread(self._learn, task_id, proposed):
            if (item.memory, item.text) not in stored:
                await self._write(item, span=task_id)

    async def _write(self, item: MemoryItem, *, span: str = "") -> None:
        closes = await self._bus.save_with(self._memory.write, item)
        if closes is not None:  # None: the person deleted it
            await self._bus.emit(e.MemoryWritten(item=item, closes=closes), span=span)
            if item.memory == "procedural" and await asyncio.to_thread(self._memory.offers, item.item_id):
                text = f"This has worked three times: {' → '.join(item.tools)}. It can be one tool, called at once."
                hint = f"Have it built from the memory's screen, or: alita memory tool {item.item_id}"
                await self._bus.emit(e.NoticeRaised(level="info", text=text, hint=hint))


_PROPOSAL_SECONDS = 30.0
"""Seconds that the next task waits at most for the proposals of this one."""
_PROPOSAL_TOKENS = 700
_MOST_OF_EVENT = 1_500
"""Characters of one event that the model reads."""
_MOST_OF_RECORD = 12_000
_MOST_PROPOSALS = 12
"""Proposals of one reply that are considered."""
_PROPOSE_FACTS = ToolSpec(
    name="propose_facts",
    description="Propose facts to remember.",
    parameters={
        "type": "object",
        "properties": {
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "subject": {"type": "string"},
                        "statement": {
                            "type": "string",
                            "description": "Copied from the event, word for word.",
                        },
                        "event": {"type": "integer"},
                    },
                    "required": ["subject", "statement", "event"],
                },
            }
        },
        "required": ["facts"],
    },
)
_PROPOSAL_SOURCES = (e.TaskSubmitted, e.Steered, e.QuestionAsked, e.QuestionAnswered, e.ToolReturned)


class Archivist:
    """Asks the model of the role `archivist`, within a budget of its own."""

    def __init__(self, bus: Bus, asker: Asker, budget_usd: float) -> None:
        self._bus = bus
        self._asker = asker
        self._budget_usd = budget_usd

    async def propose(self, task_id: e.TaskId) -> tuple[ProposedFact, ...]:
        """Return the facts that a model proposes to remember of a task; none if it fails or could exceed its budget."""
        record = await asyncio.to_thread(self._record, task_id)
        if not record or not self._budget_usd:
            return ()
        calls = await calls_of(
            self._asker,
            _PROPOSE_FACTS,
            role="archivist",
            system=prompt_text("archivist"),
            prompt=record,
            reply_tokens=_PROPOSAL_TOKENS,
            seconds=_PROPOSAL_SECONDS,
            role_usd=self._budget_usd,
        )
        return tuple(items_of(calls, "facts", ProposedFact))[:_MOST_PROPOSALS]

    def _record(self, task_id: e.TaskId) -> str:
        """Return the person's words and the tools' results in a task with their event numbers; the newest that fit."""
        lines: list[str] = []
        remaining = _MOST_OF_RECORD
        for envelope in self._bus.history.newest(*_PROPOSAL_SOURCES):
            if envelope.task_id != task_id:
                continue
            text = _text_of(envelope.event)
            line = f"Event {envelope.seq}, {text}"
            if text and len(line) <= remaining:
                lines.append(line)
                remaining -= len(line)
            if isinstance(envelope.event, e.TaskSubmitted):
                break
        return "\n\n".join(reversed(lines))


def _text_of(event: e.SessionEvent) -> str:
    match event:
        case e.TaskSubmitted(text=text) | e.Steered(text=text):
            return f"the person: {clip(text, _MOST_OF_EVENT)[0]}"
        case e.QuestionAsked(text=text, about="task"):
            return f"the agent asks: {fenced('question', clip(text, _MOST_OF_EVENT)[0])}"
        case e.QuestionAnswered(text=text):
            return f"the person answers: {clip(text, _MOST_OF_EVENT)[0]}"
        case e.ToolReturned(report=report, depth=0) if not report.result_handle:
            result = as_json(report.result)
            return f"a tool's result:\n{fenced('result', clip(result, _MOST_OF_EVENT)[0])}"
        case _:
            return ""
