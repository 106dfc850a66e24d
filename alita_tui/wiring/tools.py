"""Tools outside of a session: one run, one proof, one approval of a starter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alita_tui import __version__
from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.grants import secret_names
from alita_tui.spine.ports import Job, OnOutput, Progress
from alita_tui.spine.values import (
    Json,
    Lock,
    RunReport,
    ToolDraft,
    ToolRecord,
    build_digest,
)
from alita_tui.wiring.house import House
from alita_tui.wiring.identity import me, new_id, now
from alita_tui.wiring.live import _asker

if TYPE_CHECKING:
    from alita_tui.toolsmith.proving import Proof


class _Unwritten:
    """Meets `Recorder` where there is no session to write."""

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        """Nothing: whoever listens to the bus is all there is."""


async def run_tool(
    house: House,
    record: ToolRecord,
    arguments: Json,
    on_output: OnOutput,
    tell: Callable[[e.BrokerAnswered], Coroutine[None, None, None]],
) -> tuple[RunReport, Path | None]:
    """One run of an approved tool outside of any session, with what it is granted, and where it is recorded.

    A run that is granted nothing reaches nothing but its arguments, and is recorded nowhere. Raises
    SandboxUnavailable, RequirementsError, ConfigError, StoreError.
    """
    from alita_tui.agent.questions import Questions

    job = Job(
        run_id=new_id(), module=record.draft.name, code=record.draft.code, arguments=arguments, lock=record.lock,
        limits=house.limits, capabilities=record.granted, digest=record.digest,
    )  # fmt: skip
    async with AsyncExitStack() as parts:
        bus, path = Bus(f"run-{job.run_id}", _Unwritten(), now), None
        if not record.granted.none:
            bus, path = await _recorded(house, record, job, parts)

        async def answered(event: e.BrokerAnswered) -> None:
            await bus.emit(event, span=event.call_id)
            await tell(event)

        asker = None
        if record.granted.model_calls:
            models = await asyncio.to_thread(house.models)
            parts.push_async_callback(models.aclose)
            asker = _asker(house, bus, models, Questions(bus, parks=True))
        sandbox = house.sandbox(f"run-{job.run_id}", broker=house.broker(answered, asker))
        parts.push_async_callback(sandbox.close)
        try:
            report = await sandbox.run(job, on_output, lambda *_: None)
        except BaseException as error:
            ended = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            reason: Literal["interrupted", "sandbox"] = "interrupted" if ended else "sandbox"
            failed = e.ToolFailed(call_id=job.run_id, reason=reason, text=str(error) or "It was interrupted.")
            await bus.emit(failed, span=job.run_id)
            raise
        if report.status == "ok":
            await bus.emit(e.ToolReturned(call_id=job.run_id, report=report), span=job.run_id)
        else:
            failed = e.ToolFailed(call_id=job.run_id, reason=report.status, text=report.error, report=report)
            await bus.emit(failed, span=job.run_id)
        return report, path


async def _recorded(house: House, record: ToolRecord, job: Job, parts: AsyncExitStack) -> tuple[Bus, Path]:
    """What records this run in a file of its own, with its call already on disk. Raises StoreError."""
    from alita_tui.store.sessions import SessionFile, SessionShelf

    runs = SessionShelf(house.paths.runs, now)
    run = runs.new_id()
    names = secret_names(record.granted)
    granted = await asyncio.to_thread(lambda: [(name, house.secret(name) or "") for name in names])
    redactor = (await asyncio.to_thread(house.redactor)).knowing(granted)
    file = await asyncio.to_thread(SessionFile.create, runs.path(run), run)
    parts.push_async_callback(asyncio.to_thread, file.close)
    bus = Bus(run, file, now, redactor=redactor)
    await bus.emit(e.SessionOpened(title=f"tools run {record.draft.name}", version=__version__))
    await bus.emit(e.LibraryLoaded(tools=(record.card,)))
    await bus.emit(
        e.ToolCalled(
            call_id=job.run_id, action_id="", name=record.draft.name, version=record.version,
            digest=record.digest, arguments=job.arguments,
        ),
        span=job.run_id,
    )  # fmt: skip
    parts.push_async_callback(bus.emit, e.SessionClosed(version=__version__))
    return bus, runs.path(run)


async def prove(house: House, draft: ToolDraft, progress: Progress) -> tuple[Proof, tuple[Envelope, ...]]:
    """Put a draft that no session builds to review and its own tests; the proof, and what was observed.

    Raises SandboxUnavailable.
    """
    from alita_tui.toolsmith.proving import Build, Prover

    bus = Bus("proof", _Unwritten(), now)
    sandbox = house.sandbox(f"proof-{new_id()}")
    prover = Prover(bus, sandbox, before=(), after=(), limits=house.limits, progress=progress)
    build = Build(
        build_id=new_id(), name=draft.name, version=house.shelf.next_version(draft.name),
        task="", goal=draft.description, parent=None, sources=(),
    )  # fmt: skip
    try:
        return await prover.prove(build, 1, draft, by=""), tuple(bus.history)
    finally:
        await sandbox.close()


def approve_starter(house: House, draft: ToolDraft, lock: Lock) -> ToolRecord:
    """Enter a person's approval of a starter in the audit and put it on the shelf.

    Raises RegistryError, StoreError.
    """
    return approve_anew(house, draft, lock, origin="starter")


def approve_anew(
    house: House, draft: ToolDraft, lock: Lock, *, origin: Literal["starter", "imported"]
) -> ToolRecord:
    """Enter a person's approval of what no session built, and put it on the shelf as a new version.

    Raises RegistryError, StoreError.
    """
    digest, approval_id = build_digest(draft, lock), f"{origin}-{new_id()}"
    if refused := house.shelf.banned(draft.name, draft, digest):
        raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
    house.audit.append(
        who=me(),
        verdict="approved",
        digest=digest,
        name=draft.name,
        version=house.shelf.next_version(draft.name),
        session_id="",
        approval_id=approval_id,
        via="cli",
    )
    return house.shelf.register(
        draft, lock, approval_id=approval_id, digest=digest, sources=(), origin=origin
    )
