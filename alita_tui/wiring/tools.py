"""Tools outside of a session: one run, one proof, one approval of a starter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Literal

from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import RegistryError
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
) -> RunReport:
    """One run of an approved tool outside of any session, with what it is granted.

    Raises SandboxUnavailable, RequirementsError, ConfigError.
    """
    from alita_tui.agent.questions import Questions

    job = Job(
        run_id=new_id(), module=record.draft.name, code=record.draft.code, arguments=arguments, lock=record.lock,
        limits=house.limits, capabilities=record.granted, digest=record.digest,
    )  # fmt: skip
    async with AsyncExitStack() as parts:
        asker = None
        if record.granted.model_calls:
            models = await asyncio.to_thread(house.models)
            parts.push_async_callback(models.aclose)
            bus = Bus(f"run-{job.run_id}", _Unwritten(), now)
            asker = _asker(house, bus, models, Questions(bus, parks=True))
        sandbox = house.sandbox(f"run-{job.run_id}", broker=house.broker(tell, asker))
        parts.push_async_callback(sandbox.close)
        return await sandbox.run(job, on_output, lambda *_: None)


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
