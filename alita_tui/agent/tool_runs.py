"""One run of an approved tool, from the recorded call to the recorded end, whoever called it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from alita_tui import events as e
from alita_tui.agent.arguments import Misfit
from alita_tui.agent.notices import unexpected
from alita_tui.agent.references import LARGEST_RESULT, outlined
from alita_tui.events import Json, LeftFile, RunReport, ToolRecord, ToolState, Value
from alita_tui.spine.bus import Bus
from alita_tui.spine.cancellation import finish
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.ports.artefacts import Artefacts
from alita_tui.spine.ports.library import FinishedRun, Library
from alita_tui.spine.ports.sandbox import InputFile, Job, Limits, Sandbox
from alita_tui.spine.ports.servers import ServerUnavailable
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.refusals import refused_input
from alita_tui.spine.servers import pinned
from alita_tui.spine.text import one_line

_BY_TRUST: tuple[ToolState, ...] = (
    "trusted", "provisional", "stale", "draft", "archived", "quarantined", "revoked",
)  # fmt: skip
"""States of a tool, the most trusted first."""
_NOT_ITS_FAULT = ("killed",)
"""Ends of a run that say nothing about its tool."""
_FEW, _SHORT = 8, 200
"""Values of a result, and characters of each, up to which it is checked without a thread: starting one costs more."""


class OpenCall:
    """A running call, with counters for the calls that its tool makes."""

    def __init__(self, record: ToolRecord, caller: OpenCall | None = None) -> None:
        self.record = record
        self.chain: tuple[str, ...] = (*caller.chain, record.digest) if caller else (record.digest,)
        """Digests from the agent's call to this one."""
        self.depth: int = caller.depth + 1 if caller else 0
        self.called_tools: list[str] = caller.called_tools if caller else []
        """Names of the tools called at any depth while the agent's call runs."""
        self.turn = asyncio.Lock()
        """Lock for its calls, which run one at a time, so that one tool does not hold many containers."""


class Work(Value, frozen=True):
    """The inputs of a run."""

    arguments: Json
    inputs: tuple[InputFile, ...] = ()
    query: str = ""
    """The need that the tool is known to serve once the run succeeds; empty for none."""
    kept_at: str = ""
    """When it began, ISO 8601, for a run that no person will rate: its outcome is stored with its count. Empty for
    other runs."""


class CountedRun(NamedTuple):
    """A run to count, and the state of its tool when it began."""

    call_id: str
    state: ToolState
    finished: FinishedRun


class ToolRuns:
    """Runs approved tools in the sandbox, records it and counts how they did."""

    def __init__(
        self,
        bus: Bus,
        shelf: Library,
        sandbox: Sandbox,
        artefacts: Artefacts | None,
        *,
        limits: Limits,
        progress: Progress,
        misfit: Misfit = lambda *_: "",
        count_later: Callable[[CountedRun], None] | None = None,
    ) -> None:
        """Without `artefacts` the files of a run are discarded; `misfit` checks results against output schemas.

        `count_later` takes the runs whose outcome is stored with their count (`Work.kept_at`), so that no answer waits
        for the disk; the caller passes them to `count`. Without it, every run is counted before `run` returns.
        """
        self._bus = bus
        self._shelf = shelf
        self._sandbox = sandbox
        self._artefacts = artefacts
        self._limits = limits
        self._progress = progress
        self._misfit = misfit
        self._count_later = count_later
        self._open: dict[str, OpenCall] = {}

    @property
    def open(self) -> Mapping[str, OpenCall]:
        """The calls that run, by id."""
        return self._open

    def depth(self, call_id: str) -> int:
        """Return how many calls a run is nested in; 0 for an unknown call."""
        return self._open[call_id].depth if call_id in self._open else 0

    @contextmanager
    def opened(self, call_id: str, call: OpenCall) -> Iterator[None]:
        """Allow this call's tool to call others meanwhile."""
        self._open[call_id] = call
        try:
            yield
        finally:
            del self._open[call_id]

    async def run(self, called: e.ToolCalled, call: OpenCall, work: Work) -> RunReport:
        """Run a tool and return its report; a tool that fails is a report. Raise SandboxUnavailable, StoreError."""
        before = self._bus.last_seq
        try:
            return await self._run_recorded(called, call, work)
        except asyncio.CancelledError:  # may come while its call is being written, or just before its end
            if self._unended(called.call_id, before):
                text = f"{called.name} was interrupted."
                await finish(self._fail(called.call_id, call, "interrupted", text))
            raise

    def _unended(self, call_id: e.CallId, before: int) -> bool:
        """Return whether a call was recorded after the event `before`, but not its end."""
        for envelope in self._bus.history.newest(e.ToolCalled, e.ToolReturned, e.ToolFailed):
            if (envelope.seq or 0) <= before:
                break
            match envelope.event:
                case e.ToolCalled(call_id=begun) if begun == call_id:
                    return True
                case e.ToolReturned(call_id=ended) | e.ToolFailed(call_id=ended) if ended == call_id:
                    return False
                case _:
                    pass
        return False

    async def _run_recorded(self, called: e.ToolCalled, call: OpenCall, work: Work) -> RunReport:
        call_id, name = called.call_id, called.name
        server = pinned(call.record.draft).server.name if call.record.origin == "remote" else ""
        if not server:
            await self._sandbox.prepare(self._progress)
        called = msgspec.structs.replace(
            called, tools=call.record.granted.tools, depth=call.depth, server=server
        )
        await self._bus.emit(called, span=call_id)
        with self.opened(call_id, call):
            try:
                report, recorded, why = await self._run(call_id, call, work)
            except ServerUnavailable as error:  # its end is recorded already, and the tool is not to blame
                return RunReport(status="killed", error=error.message)
        if report.status == "ok":
            returned = e.ToolReturned(call_id=call_id, depth=call.depth, report=recorded, misfit=why)
            await self._bus.emit(returned, span=call_id)
        else:
            await self._fail(
                call_id,
                call,
                report.status,
                f"{name} failed ({report.status}): {last_words(report)}",
                report=recorded,
            )
        run = self._finished(call_id, call.record, work, report, why)
        if work.kept_at and self._count_later is not None:
            self._count_later(run)
        else:
            await self.count([run])
        return report

    async def _run(self, call_id: e.CallId, call: OpenCall, work: Work) -> tuple[RunReport, RunReport, str]:
        """Return the report, the report as recorded, and why the result does not fit the tool's output schema.

        If the tool cannot run, the end of the call is recorded.
        """
        record = call.record
        name = record.draft.name

        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            self._bus.hint(e.OutputChunk(run_id=call_id, title=name, stream=stream, text=text))

        landing: Path | None = None
        succeeded = False
        try:
            if self._artefacts is not None:
                landing = self._artefacts.spare_landing()
                landing = landing or await self._bus.save_with(self._artefacts.landing)
            job = Job(
                run_id=call_id,
                module=name,
                code=record.draft.code,
                language=record.draft.language,
                arguments=work.arguments,
                inputs=work.inputs,
                outputs=str(landing or ""),
                lock=record.lock,
                limits=self._limits,
                capabilities=record.granted,
                digest=record.digest,
                remote=record.origin == "remote",
            )
            report = await self._sandbox.run(job, show, self._progress)
            succeeded = report.status == "ok"
            if record.origin != "remote" and _brief(report.result):
                raw, why = self._checked_result(record, report)
            else:
                raw, why = await asyncio.to_thread(self._checked_result, record, report)
            return report, await self._with_artefacts(call_id, report, raw, name, landing), why
        except AlitaError as error:
            await self._fail(call_id, call, "sandbox", error.message, hint=error.hint)
            raise
        except Exception as error:
            await self._fail(call_id, call, "sandbox", unexpected(error).text)
            raise
        finally:
            if landing is not None:
                assert self._artefacts
                if succeeded and not report.files:
                    self._artefacts.give_back(landing, ended=True)
                else:
                    await asyncio.to_thread(self._artefacts.give_back, landing, ended=False)

    def _checked_result(self, record: ToolRecord, report: RunReport) -> tuple[bytes, str]:
        """Return a result as JSON without secrets, and why it does not fit the tool's output schema."""
        raw = msgspec.json.encode(self._bus.redacted(report.result))
        return raw, self._misfit_of(record, report.result) if report.status == "ok" else ""

    def _misfit_of(self, record: ToolRecord, result: Json) -> str:
        """Return why a result does not fit the tool's output schema; empty if it fits, or if that cannot be checked."""
        schema = record.draft.output_schema
        why = self._misfit(result, schema) if schema else ""
        return "" if why.startswith("the schema cannot") else one_line(why, 300)

    async def _with_artefacts(
        self, call_id: e.CallId, report: RunReport, raw: bytes, name: str, landing: Path | None
    ) -> RunReport:
        """Record the files that the run left as artefacts, and `raw`, its result, if that is too large for the record.

        A file that is too large is reported as lost; the rest is stored.
        """
        files: list[LeftFile] = []
        losses = [report.files_lost] if report.files_lost else []
        for number, file in enumerate(report.files if self._artefacts and landing else ()):
            assert self._artefacts and landing
            path = landing / str(number)
            try:
                artefact = await self._bus.save_with(self._artefacts.add, path, file.name, take=True)
            except UsageError as error:
                losses.append(f"{file.name}: {error.message.removeprefix(f'{path} ')}")
                continue
            await self._add(call_id, artefact, "tool")
            files.append(file)
        report = msgspec.structs.replace(report, files=tuple(files), files_lost="; ".join(losses))
        if len(raw) <= LARGEST_RESULT or self._artefacts is None:
            return report
        report = msgspec.structs.replace(report, result=outlined(report.result))
        try:
            artefact_of_result = await self._bus.save_with(
                self._artefacts.add_bytes, raw, f"{name}-result.json"
            )
        except UsageError as error:
            return msgspec.structs.replace(report, files_lost="; ".join((*losses, error.message)))
        await self._add(call_id, artefact_of_result, "result")
        return msgspec.structs.replace(report, result_handle=artefact_of_result.handle)

    async def _add(self, call_id: e.CallId, artefact: e.Artefact, origin: e.ArtefactOrigin) -> None:
        added = e.ArtefactAdded(artefact=artefact, origin=origin, source=call_id)
        await self._bus.emit(added, span=call_id)

    async def _fail(
        self,
        call_id: e.CallId,
        call: OpenCall,
        reason: e.FailureReason,
        text: str,
        *,
        hint: str = "",
        report: RunReport | None = None,
    ) -> None:
        failed = e.ToolFailed(
            call_id=call_id, depth=call.depth, reason=reason, text=text, hint=hint, report=report
        )
        await self._bus.emit(failed, span=call_id)

    def _finished(
        self, call_id: str, record: ToolRecord, work: Work, report: RunReport, misfit: str
    ) -> CountedRun:
        """Return a run as it is counted."""
        ok, outcome = report.status == "ok", None
        refused = refused_input(report, self._requests_of(call_id))
        if work.kept_at and not refused and report.status not in _NOT_ITS_FAULT:
            grade: e.Grade = "misfit" if misfit else "ran" if ok else "failed"
            run = f"{self._bus.session_id}/{call_id}"
            outcome = e.RunOutcome(run=run, at=work.kept_at, grade=grade)
        finished_run = FinishedRun(
            name=record.draft.name,
            version=record.version,
            ok=ok,
            query=work.query,
            outcome=outcome,
            refused=refused,
        )
        return CountedRun(call_id, record.state, finished_run)

    def _requests_of(self, call_id: str) -> Iterator[e.BrokerAnswered]:
        """Yield what a run asked the broker for, the newest first."""
        for envelope in self._bus.history.newest(e.ToolCalled, e.BrokerAnswered):
            match envelope.event:
                case e.ToolCalled(call_id=begun) if begun == call_id:
                    return
                case e.BrokerAnswered(call_id=asking) as request if asking == call_id:
                    yield request
                case _:
                    pass

    async def count(self, runs: Sequence[CountedRun]) -> None:
        """Count runs on disk, and record each tool that lost trust by them. Raise StoreError."""
        states = await self._bus.save_with(self._shelf.record_runs, [run.finished for run in runs])
        demoted: set[tuple[str, int]] = set()
        for run, state in zip(runs, states, strict=True):
            name, version = run.finished.name, run.finished.version
            if state is None or _BY_TRUST.index(state) <= _BY_TRUST.index(run.state):
                continue
            if (name, version) in demoted:
                continue
            demoted.add((name, version))
            reason = f"{'its last runs' if state == 'stale' else 'of its last three runs two'} failed"
            event = e.ToolDemoted(name=e.ToolName(name), version=version, state=state, reason=reason)
            await self._bus.emit(event, span=run.call_id)


def _brief(result: Json) -> bool:
    """Return whether a result is a short value, or a few of them."""
    values = list(result.values()) if isinstance(result, dict) else result
    if not isinstance(values, list):
        values = [values]
    return len(values) <= _FEW and all(
        len(value) <= _SHORT if isinstance(value, str) else not isinstance(value, dict | list)
        for value in values
    )


def last_words(report: RunReport) -> str:
    """Return the last line of a failed run's output."""
    return (report.error.strip().splitlines()[-1:] or [f"exit code {report.exit_code}"])[0]
