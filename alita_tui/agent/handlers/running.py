"""The action run_tool: an approved tool runs in the sandbox, and its reliability is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Literal

import msgspec

from alita_tui import events as e
from alita_tui.agent.actions import Action, RunTool
from alita_tui.agent.arguments import Misfit, check_arguments, record_of
from alita_tui.agent.handlers import Handler
from alita_tui.agent.notices import unexpected
from alita_tui.agent.projection import StateProjection
from alita_tui.agent.references import LARGEST_RESULT, References, Resolved, outlined
from alita_tui.agent.tasks import CurrentTask
from alita_tui.events import LeftFile, RunReport, ToolRecord, ToolState
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import AlitaError, RegistryError, UsageError
from alita_tui.spine.ports.artefacts import Artefacts
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.sandbox import Job, Limits, Sandbox
from alita_tui.spine.ports.stream import Progress

_BY_TRUST: tuple[ToolState, ...] = (
    "trusted", "provisional", "stale", "draft", "archived", "quarantined", "revoked",
)  # fmt: skip
"""States of a tool, the most trusted first."""


class RunHandlers:
    """Handles run_tool."""

    def __init__(
        self,
        bus: Bus,
        projection: StateProjection,
        task: CurrentTask,
        shelf: ToolShelf,
        sandbox: Sandbox,
        references: References,
        artefacts: Artefacts,
        *,
        limits: Limits,
        new_id: Callable[[], str],
        progress: Progress,
        misfit: Misfit,
    ) -> None:
        self._bus = bus
        self._projection = projection
        self._task = task
        self._shelf = shelf
        self._sandbox = sandbox
        self._references = references
        self._artefacts = artefacts
        self._limits = limits
        self._new_id = new_id
        self._progress = progress
        self._misfit = misfit

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {RunTool: self.run_tool}

    async def run_tool(self, action_id: str, action: RunTool) -> None:
        """Run a tool; a tool that fails is an observation. Raises RegistryError, SandboxUnavailable."""
        record = await asyncio.to_thread(record_of, self._shelf, action.name, action.version)
        builds = {build.digest for build in self._task.builds()}
        if self._shelf.lends(record.digest) and record.digest not in builds:
            raise RegistryError(f"{action.name} v{record.version} was approved for another task alone.")
        resolved = await asyncio.to_thread(
            self._references.resolve, action.arguments, record.draft.input_schema
        )
        await asyncio.to_thread(check_arguments, record, resolved.arguments, self._misfit)
        await self._record_in_library(record.digest)
        await self._sandbox.prepare(self._progress)
        name = record.draft.name
        call_id = e.CallId(self._new_id())
        await self._bus.emit(
            e.ToolCalled(
                call_id=call_id,
                action_id=action_id,
                name=name,
                version=record.version,
                digest=record.digest,
                arguments=action.arguments,
                alias="" if action.name == name else action.name,
                label=action.label,
                files=resolved.files,
                references=resolved.references,
            ),
            span=call_id,
        )
        report = await self._run(call_id, resolved, record)
        if report.status == "ok":
            await self._bus.emit(e.ToolReturned(call_id=call_id, report=report), span=call_id)
        else:
            last = report.error.strip().splitlines()[-1:] or [f"exit code {report.exit_code}"]
            await self._fail(
                call_id, report.status, f"{name} failed ({report.status}): {last[0]}", report=report
            )
        await self._count(call_id, record, ok=report.status == "ok")

    async def _run(self, call_id: e.CallId, resolved: Resolved, record: ToolRecord) -> RunReport:
        """Run the tool and keep what it made; whatever keeps it from running ends the call on record."""
        name = record.draft.name

        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            self._bus.hint(e.OutputChunk(run_id=call_id, title=name, stream=stream, text=text))

        landing: Path | None = None
        try:
            landing = await self._bus.kept(self._artefacts.landing)
            job = Job(
                run_id=call_id,
                module=name,
                code=record.draft.code,
                arguments=resolved.arguments,
                inputs=resolved.inputs,
                outputs=str(landing),
                lock=record.lock,
                limits=self._limits,
                capabilities=record.granted,
                digest=record.digest,
            )
            report = await self._sandbox.run(job, show, self._progress)
            return await self._kept(call_id, report, name, landing)
        except asyncio.CancelledError:
            await self._fail(call_id, "interrupted", f"{name} was interrupted.")
            raise
        except AlitaError as error:
            await self._fail(call_id, "sandbox", error.message, hint=error.hint)
            raise
        except Exception as error:
            await self._fail(call_id, "sandbox", unexpected(error).text)
            raise
        finally:
            if landing is not None:
                await asyncio.to_thread(rmtree, landing, ignore_errors=True)

    async def _kept(self, call_id: e.CallId, report: RunReport, name: str, landing: Path) -> RunReport:
        """Record as artefacts what the run left, and a result that is too large for the record.

        What is larger than a file may be is told as lost; the rest stays.
        """
        kept: list[LeftFile] = []
        lost = [report.files_lost] if report.files_lost else []
        for number, file in enumerate(report.files):
            place = landing / str(number)
            try:
                taken = await self._bus.kept(self._artefacts.add, place, file.name, take=True)
            except UsageError as error:
                lost.append(f"{file.name}: {error.message.removeprefix(f'{place} ')}")
                continue
            await self._add(call_id, taken, "tool")
            kept.append(file)
        report = msgspec.structs.replace(report, files=tuple(kept), files_lost="; ".join(lost))
        raw = await asyncio.to_thread(msgspec.json.encode, report.result)
        if len(raw) <= LARGEST_RESULT:
            return report
        report = msgspec.structs.replace(report, result=outlined(report.result))
        try:
            whole = await self._bus.kept(self._artefacts.add_bytes, raw, f"{name}-result.json")
        except UsageError as error:
            return msgspec.structs.replace(report, files_lost="; ".join((*lost, error.message)))
        await self._add(call_id, whole, "result")
        return msgspec.structs.replace(report, result_handle=whole.handle)

    async def _add(self, call_id: e.CallId, artefact: e.Artefact, origin: e.ArtefactOrigin) -> None:
        added = e.ArtefactAdded(artefact=artefact, origin=origin, source=call_id)
        await self._bus.emit(added, span=call_id)

    async def _fail(
        self,
        call_id: e.CallId,
        reason: e.FailureReason,
        text: str,
        *,
        hint: str = "",
        report: RunReport | None = None,
    ) -> None:
        failed = e.ToolFailed(call_id=call_id, reason=reason, text=text, hint=hint, report=report)
        await self._bus.emit(failed, span=call_id)

    async def _record_in_library(self, digest: str) -> None:
        """Record the library anew when another session registered this tool meanwhile."""
        if digest not in {card.digest for card in self._projection.state.library}:
            await self._bus.emit(e.LibraryLoaded(tools=self._shelf.cards()))

    async def _count(self, call_id: str, record: ToolRecord, *, ok: bool) -> None:
        """Count the run, and record it when the tool lost trust by it."""
        name, version, text = record.draft.name, record.version, self._task.text
        state = await self._bus.kept(self._shelf.record_run, name, version, ok=ok, query=text)
        if state is not None and _BY_TRUST.index(state) > _BY_TRUST.index(record.state):
            reason = f"{'its last runs' if state == 'stale' else 'of its last three runs two'} failed"
            demoted = e.ToolDemoted(name=name, version=version, state=state, reason=reason)
            await self._bus.emit(demoted, span=call_id)
