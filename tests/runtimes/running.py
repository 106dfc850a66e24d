"""Drafts run in the sandbox."""

from __future__ import annotations

from alita_tui.events import Lock, RunReport, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.ports.sandbox import Job, Limits

SMALL = Limits(wall_seconds=6, cpu_seconds=8, memory_bytes=128 << 20, processes=32)


def quiet(*_: object) -> None: ...


async def locked(podman: PodmanSandbox, draft: ToolDraft) -> Lock:
    return await podman.lock(runtime_of(draft.language).needs, quiet)


async def ran(
    podman: PodmanSandbox, draft: ToolDraft, arguments: dict[str, object], limits: Limits = SMALL
) -> RunReport:
    job = Job(
        run_id="r", module=draft.name, code=draft.code, language=draft.language, arguments=arguments,
        lock=await locked(podman, draft), limits=limits,
    )  # fmt: skip
    return await podman.run(job, quiet, quiet)
