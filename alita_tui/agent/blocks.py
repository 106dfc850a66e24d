"""The blocks of a session's context: which are on, which go with the task, and the resulting prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from alita_tui import events as e
from alita_tui.agent.context_window import WorkingContext
from alita_tui.agent.prompt import Surroundings, due, orchestrator_prompt, workspace
from alita_tui.agent.tasks import CurrentTask
from alita_tui.spine.bus import Bus
from alita_tui.spine.ports.context import BLOCKS, Provided, Provider, off

_SECONDS = 15.0
"""Time limit in seconds for all providers together, because a folder on a dead server must not block a task."""


class ContextBlocks:
    """Decides at every step which blocks are sent, so that switching one off takes effect at once."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        context: WorkingContext,
        surroundings: Callable[[], Surroundings],
        provider: Provider,
        defaults: Collection[str],
    ) -> None:
        """`defaults` are the blocks that are on unless the person switches them."""
        self._bus = bus
        self._task = task
        self._context = context
        self._surroundings = surroundings
        self._provider = provider
        self._defaults = defaults
        self._around: dict[str, Surroundings] = {}
        """Task -> its surroundings, as last read."""
        self._read: dict[str, frozenset[str]] = {}
        """Task -> the blocks that were off when it was read; none: not read for this task."""
        self._reported: set[str] = set()
        """Problems that were reported to the person."""
        self._order = asyncio.Lock()

    @property
    def off(self) -> frozenset[str]:
        """The blocks that are off now."""
        return off(self._defaults, dict(self._task.state.switches))

    async def switch(self, block: str, on: bool) -> None:
        """Record that the person switches a block; do nothing if it already is in that state."""
        if block not in BLOCKS:
            text = f"There is no block {block!r} of the context."
            await self._bus.emit(
                e.NoticeRaised(level="info", text=text, hint=f"There are {', '.join(BLOCKS)}.")
            )
            return
        async with self._order:
            if on == (block in self.off):
                await self._bus.emit(e.ContextSwitched(block=block, on=on))

    def begin(self) -> None:
        """Read the surroundings again, because a task begins or continues."""
        self._read.pop(self._task.id, None)

    def end(self) -> None:
        """Forget what was read for the present task."""
        self._read.pop(self._task.id, None)
        self._around.pop(self._task.id, None)
        self._context.end()

    @property
    def browser(self) -> bool:
        """Whether tools may be granted a browser, as of the start of the present task."""
        around = self._around.get(self._task.id)
        return around is not None and around.browser

    async def prompt(self) -> str:
        """Return the prompt for the next call, after giving the blocks that are due."""
        task_id = self._task.id
        if self._read.get(task_id) != self.off:
            self._read[task_id] = self.off
            await self._give(await self._provided())
        return orchestrator_prompt(self._around[task_id], self.off)

    async def _provided(self) -> Provided:
        around = self._around[self._task.id] = await asyncio.to_thread(self._surroundings)
        enabled = frozenset(BLOCKS) - self.off
        try:
            async with asyncio.timeout(_SECONDS):
                provided = await asyncio.to_thread(self._provider.provide, self._task.text, enabled)
        except TimeoutError:
            provided = Provided(problems=(f"Reading took longer than {_SECONDS:.0f} seconds.",))
        except Exception as error:  # noqa: BLE001  # what a folder holds never fails a task
            provided = Provided(problems=(f"{type(error).__name__}: {error}",))
        files = workspace(around)
        return Provided(blocks=(*((files,) if files else ()), *provided.blocks), problems=provided.problems)

    async def _give(self, provided: Provided) -> None:
        for problem in provided.problems:
            if problem not in self._reported:
                self._reported.add(problem)
                text = f"A block of the context is not sent: {problem}"
                hint = "`alita context` shows what is; `alita config` has the settings under context."
                await self._bus.emit(e.NoticeRaised(level="warning", text=text, hint=hint))
        blocks = await asyncio.to_thread(self._bus.redacted, provided.blocks)
        entries = await asyncio.to_thread(self._context.entries)
        turns = [(entry.name, entry.message) for entry in entries if entry.message.role == "user"]
        async with self._order:  # no block is switched off between the check and the event
            if blocks_due := due(blocks, turns, self.off):
                await self._bus.emit(e.ContextGiven(blocks=blocks_due))
