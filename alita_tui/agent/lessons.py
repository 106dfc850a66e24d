"""Stores in memory what tasks teach: lessons of rejections, and items of finished tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from alita_tui import events as e
from alita_tui.agent.archivist import Archivist
from alita_tui.agent.tasks import CurrentTask
from alita_tui.agent.tokens import tokens_in
from alita_tui.events import MemoryItem
from alita_tui.spine.bus import Bus
from alita_tui.spine.history import of_kind
from alita_tui.spine.ports.memory import REJECTION, Learn, Memory, ProposedFact
from alita_tui.spine.text import one_line

_FAILED: frozenset[e.TaskOutcome] = frozenset(("failed", "stuck", "step_limit"))


class Lessons:
    """Writes to memory, unless the session only tries something out."""

    def __init__(
        self,
        bus: Bus,
        memory: Memory,
        task: CurrentTask,
        *,
        learn: Learn,
        new_id: Callable[[], str],
        teaches: bool,
        archivist: Archivist | None = None,
        recall_tokens: int = 600,
        recalls: Callable[[], bool] = lambda: True,
        encode: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        """`learn` derives the items of one task from the record; with `teaches` false nothing is written.

        With an `archivist` a model proposes facts when a task ends; only those that the record confirms are stored.
        Nothing is recalled for a task while `recalls` is false. `encode` fetches missing vectors from an encoder, and
        returns whether any arrived.
        """
        self._bus = bus
        self._memory = memory
        self._task = task
        self._learn = learn
        self._new_id = new_id
        self._teaches = teaches
        self._archivist = archivist
        self._recall_tokens = recall_tokens
        self._recalls = recalls
        self._encode = encode

    async def recall(self, task_id: e.TaskId, text: str) -> None:
        """Record what memory knows about a task."""
        if not self._recalls():
            return
        recalled = await asyncio.to_thread(self._memory.recall, text)
        if self._encode is not None and await self._encode(text):
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
