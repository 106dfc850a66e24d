"""Tools outside a session: runs a tool, tests a draft, approves a draft."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alita_tui import __version__
from alita_tui import events as e
from alita_tui.app.checking import NoModel, checks
from alita_tui.app.context import AppContext
from alita_tui.app.identity import me, new_id, now
from alita_tui.app.model_calls import model_calls
from alita_tui.app.servers.book import LazyServers
from alita_tui.events import Json, Lock, RunReport, Source, ToolDraft, ToolRecord, build_digest
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.grants import used_by
from alita_tui.spine.ports.sandbox import InputFile, Job, OnOutput
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.servers import pinned
from alita_tui.store.entry import AuditEntry

if TYPE_CHECKING:
    from alita_tui.spine.redaction import Redactor
    from alita_tui.toolsmith.prover import Proof


class _Unwritten:
    """A `Recorder` that writes nothing; events reach only the subscribers of the bus."""

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        """Do nothing."""


async def run_tool(
    app: AppContext,
    record: ToolRecord,
    arguments: Json,
    on_output: OnOutput,
    tell: Callable[[e.BrokerAnswered | e.PageLogged], Coroutine[None, None, None]],
    *,
    inputs: tuple[InputFile, ...] = (),
    outputs: Path | None = None,
) -> tuple[RunReport, Path | None]:
    """Run an approved tool with its grants; return the report, and where the run is recorded.

    `inputs` are the files that its arguments name. Its files are written to the folder `outputs`, the n-th as `n`.

    A tool that is granted nothing can make no requests, and its run is not recorded. Raises
    SandboxUnavailable, RequirementsError, ConfigError, StoreError.
    """
    from alita_tui.agent.inner_calls import InnerCalls
    from alita_tui.agent.questions import Questions
    from alita_tui.agent.tool_runs import OpenCall, ToolRuns
    from alita_tui.registry.task_library import TaskLibrary
    from alita_tui.toolsmith.checks.probes import misfit

    job = Job(
        run_id=new_id(), module=record.draft.name, code=record.draft.code, arguments=arguments, lock=record.lock,
        language=record.draft.language,
        limits=app.limits, capabilities=record.granted, digest=record.digest, remote=record.origin == "remote",
        inputs=inputs, outputs=str(outputs or ""),
    )  # fmt: skip
    async with AsyncExitStack() as parts:
        redactor, path = await asyncio.to_thread(app.redactor), None
        bus = Bus(f"run-{job.run_id}", _Unwritten(), now, redactor=redactor)
        if not record.granted.none or job.remote:
            bus, path = await _recording_bus(app, record, job, redactor, parts)

        async def record_request(event: e.BrokerAnswered | e.PageLogged) -> None:
            event = inner.placed(event)
            await bus.emit(event, span=event.call_id)
            await tell(event)

        asker = None
        if any(item.startswith("model:") for item in used_by(record.granted)):
            models = await asyncio.to_thread(app.models)
            parts.push_async_callback(models.aclose)
            asker = model_calls(app, bus, models, Questions(bus, parks=True))
        broker = app.broker(record_request, asker, redactor)
        sandbox = app.sandbox(f"run-{job.run_id}", broker=broker)
        parts.push_async_callback(sandbox.close)
        sandbox.servers = LazyServers(app, sandbox, bus.emit, redactor, asker=asker)
        shelf = TaskLibrary(app.library)
        runs = ToolRuns(bus, shelf, sandbox, None, limits=app.limits, progress=lambda *_: None, misfit=misfit)
        broker.tools = inner = InnerCalls(runs, shelf, new_id=new_id, misfit=misfit)
        try:
            with runs.opened(job.run_id, OpenCall(record)):
                report = await sandbox.run(job, on_output, lambda *_: None)
        except BaseException as error:
            ended = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            reason: Literal["interrupted", "sandbox"] = "interrupted" if ended else "sandbox"
            failed = e.ToolFailed(
                call_id=e.CallId(job.run_id), reason=reason, text=str(error) or "It was interrupted."
            )
            await bus.emit(failed, span=job.run_id)
            raise
        if report.status == "ok":
            await bus.emit(e.ToolReturned(call_id=e.CallId(job.run_id), report=report), span=job.run_id)
        else:
            failed = e.ToolFailed(
                call_id=e.CallId(job.run_id), reason=report.status, text=report.error, report=report
            )
            await bus.emit(failed, span=job.run_id)
        return bus.redacted(report), path


async def _recording_bus(
    app: AppContext, record: ToolRecord, job: Job, redactor: Redactor, parts: AsyncExitStack
) -> tuple[Bus, Path]:
    """Return a bus that records a run in a file of its own, with the call already on disk. Raises StoreError."""
    from alita_tui.store.sessions import SessionFile, SessionStore

    runs = SessionStore(app.paths.runs, now)
    run = runs.new_id()
    file = await asyncio.to_thread(SessionFile.create, runs.path(run), run)
    parts.push_async_callback(asyncio.to_thread, file.close)
    bus = Bus(run, file, now, redactor=redactor)
    await bus.emit(e.SessionOpened(title=f"tools run {record.draft.name}", version=__version__))
    await bus.emit(e.LibraryLoaded(tools=(record.card,)))
    await bus.emit(
        e.ToolCalled(
            call_id=e.CallId(job.run_id), action_id="", name=record.draft.name, version=record.version,
            digest=record.digest, arguments=job.arguments, tools=record.granted.tools,
            server=pinned(record.draft).server.name if job.remote else "",
        ),
        span=job.run_id,
    )  # fmt: skip
    parts.push_async_callback(bus.emit, e.SessionClosed(version=__version__))
    return bus, runs.path(run)


async def prove(
    app: AppContext, draft: ToolDraft, progress: Progress, *, whole: bool = False
) -> tuple[Proof, tuple[Envelope, ...]]:
    """Review a draft and run its own tests; return the proof and the events. Raises SandboxUnavailable.

    With `whole`, also run every check that asks no model.
    """
    from alita_tui.registry.task_library import TaskLibrary
    from alita_tui.toolsmith.prover import Prover

    bus = Bus("proof", _Unwritten(), now)
    sandbox = app.sandbox(f"proof-{new_id()}")
    web = app.web(bus.redacted) if whole else None
    shelf = TaskLibrary(app.library)
    before, after = checks(app, sandbox, NoModel(), web, shelf) if web else ((), ())
    prover = Prover(bus, sandbox, before=before, after=after, limits=app.limits, progress=progress)
    build = e.BuildStarted(
        build_id=e.BuildId(new_id()),
        action_id="",
        name=draft.name,
        goal=draft.description,
        version=app.library.next_version(draft.name),
    )
    try:
        await bus.emit(build, span=build.build_id)
        return await prover.prove(build, 1, draft, by=""), tuple(bus.history)
    finally:
        await sandbox.close()
        if web is not None:
            await web.close()


def approve_anew(
    app: AppContext,
    draft: ToolDraft,
    lock: Lock,
    *,
    origin: Literal["starter", "imported", "recipe", "remote"],
    reason: str = "",
    evidence: tuple[str, ...] = (),
    sources: tuple[Source, ...] = (),
) -> ToolRecord:
    """Enter the approval of a draft that no session built in the audit log, and register a new version.

    Returns the version with these bytes if there is one that runs, as another process may have approved them.

    Raises RegistryError, StoreError.
    """
    digest, approval_id = build_digest(draft, lock), f"{origin}-{new_id()}"
    if refused := app.library.banned(draft.name, draft, digest):
        raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
    with app.tool_documents.changing():
        # With the same bytes twice, revoking the newer version would leave the older one running.
        for record in app.library.versions(draft.name):
            if record.digest == digest and record.grants is None:
                with suppress(RegistryError):  # it does not run
                    return app.library.get(draft.name, record.version)
        app.audit.append(
            AuditEntry(
                who=me(),
                verdict="approved",
                digest=digest,
                name=draft.name,
                version=app.library.next_version(draft.name),
                session_id="",
                approval_id=approval_id,
                reason=reason,
                evidence=evidence,
                via="cli",
            )
        )
        return app.library.register(
            draft, lock, approval_id=approval_id, digest=digest, sources=sources, origin=origin
        )
