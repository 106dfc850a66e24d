"""The action run_tool: an approved tool runs in the sandbox, and its reliability is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from alita_tui import events as e
from alita_tui.agent.acting import Handler
from alita_tui.agent.actions import Action, RunTool
from alita_tui.agent.arguments import Misfit, check_arguments, record_of
from alita_tui.agent.references import References
from alita_tui.agent.tasks import CurrentTask
from alita_tui.agent.tool_runs import OpenCall, ToolRuns, Work
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import NotAllowedHere, RegistryError
from alita_tui.spine.ports.library import ToolShelf


class RunHandlers:
    """Handles run_tool."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        shelf: ToolShelf,
        references: References,
        runs: ToolRuns,
        *,
        new_id: Callable[[], str],
        misfit: Misfit,
        may: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`may` returns whether the present agent may use a tool of the library."""
        self._may = may
        self._bus = bus
        self._task = task
        self._shelf = shelf
        self._references = references
        self._runs = runs
        self._new_id = new_id
        self._misfit = misfit

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {RunTool: self.run_tool}

    async def run_tool(self, action_id: str, action: RunTool) -> None:
        """Run a tool; a tool that fails is an observation. Raises RegistryError, SandboxUnavailable."""
        record = await asyncio.to_thread(record_of, self._shelf, action.name, action.version)
        if not self._may(record.draft.name):
            raise RegistryError(f"Your role may not run {record.draft.name}.", hint="Say so in your report.")
        builds = {build.digest for build in self._task.builds()}
        if self._shelf.lends(record.digest) and record.digest not in builds:
            raise RegistryError(f"{action.name} v{record.version} was approved for another task alone.")
        resolved = await asyncio.to_thread(
            self._references.resolve, action.arguments, record.draft.input_schema
        )
        await asyncio.to_thread(check_arguments, record, resolved.arguments, self._misfit)
        await self._record_in_library(record.digest)
        name = record.draft.name
        called = e.ToolCalled(
            call_id=e.CallId(self._new_id()),
            action_id=action_id,
            name=name,
            version=record.version,
            digest=record.digest,
            arguments=action.arguments,
            alias="" if action.name == name else action.name,
            label=action.label,
            files=resolved.files,
            references=resolved.references,
        )
        work = Work(arguments=resolved.arguments, inputs=resolved.inputs, query=self._task.text)
        with suppress(
            NotAllowedHere
        ):  # recorded as the end of the call, which the model reads: it goes on without
            await self._runs.run(called, OpenCall(record), work)

    async def _record_in_library(self, digest: str) -> None:
        """Record the library again if another session registered this tool meanwhile."""
        if digest not in {card.digest for card in self._task.state.library}:
            await self._bus.emit(e.LibraryLoaded(tools=self._shelf.cards()))
