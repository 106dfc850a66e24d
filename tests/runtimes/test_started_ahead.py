"""Node is started before there is a job; nothing of one call reaches the next, and each call keeps to its limits."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from alita_tui.events import Capabilities, Lock, RunReport
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.imports import ahead
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.runtimes.running import quiet

LIMITS = Limits(wall_seconds=20, cpu_seconds=20, memory_bytes=256 << 20)
COUNTS = """
let calls = 0;
export async function run(input) {
  const before = [calls++, globalThis.kept ?? "", Array.prototype.kept ?? "", process.env.KEPT ?? ""];
  globalThis.kept = Array.prototype.kept = process.env.KEPT = "kept";
  const { readdirSync, writeFileSync } = await import("node:fs");
  before.push(readdirSync("/tmp").sort().join());
  writeFileSync("/tmp/kept", "x");
  return [before, process.argv.length, process.pid > 0 ? process.getuid() : 0, performance.timeOrigin];
}
"""


def job(code: str, lock: Lock, digest: str = "", limits: Limits = LIMITS, **more: Any) -> Job:
    return Job(
        run_id="t", module="tool_t", code=code, language="javascript", lock=lock, digest=digest, limits=limits,
        arguments={}, **more,
    )  # fmt: skip


def waits(sandbox: PodmanSandbox) -> bool:
    return any(row.hot and row.imports == ("start:javascript",) for row in sandbox.waiting())


async def until_it_waits(sandbox: PodmanSandbox) -> None:
    """Return when a container waits in which node was started."""
    while busy := sandbox._pool._enders | sandbox._pool._makers:  # what has ended is replaced
        await asyncio.wait(busy)
    assert waits(sandbox), sandbox.waiting()


def test_only_jobs_without_grants_get_a_process_started_ahead():
    lock = Lock()
    assert ahead(job("", lock), packages=True) == {"start:javascript"}
    assert ahead(job("", lock, kind="judge"), packages=True) == frozenset()
    granted = Capabilities(network=("example.org",))
    assert ahead(job("", lock, capabilities=granted), packages=True) == frozenset(), (
        "where the broker is, node reads when it starts"
    )
    bash = msgspec.structs.replace(job("", lock), language="bash")
    assert ahead(bash, packages=True) == frozenset()


@pytest.mark.podman
@pytest.mark.slow
async def test_calls_find_node_waiting_without_state_of_the_last_call(ready: EngineSettings):
    chosen = msgspec.structs.replace(ready, pool_hot=1, pool_warm=1, session_calls=True)
    sandbox = PodmanSandbox(chosen, "started")
    try:
        lock = await sandbox.lock(runtime_of("javascript").needs, quiet)

        async def call(code: str, digest: str, **more: Any) -> RunReport:
            return await sandbox.run(job(code, lock, digest, **more), quiet, quiet)

        answers = [(await call(COUNTS, "")).result]
        await until_it_waits(sandbox)
        answers.append((await call(COUNTS, "")).result)
        for _ in range(2):
            assert (await call(COUNTS, "approved")).status == "ok"
            while sandbox._sessions._tasks:
                await asyncio.wait(sandbox._sessions._tasks)
        kept = [session.container for session in sandbox._sessions._open.values()]
        answers += [(await call(COUNTS, "approved")).result for _ in range(3)]
        assert kept and all(one.alive and one.imports == {"start:javascript"} for one in kept)
        assert all(before == [0, "", "", "", "out,tool"] and words == 2 for before, words, *_ in answers), (
            answers
        )
        assert len({uid for _, _, uid, _ in answers[2:]}) == 3, "a user id of its own for each call"
        assert len({begun for *_, begun in answers}) == len(answers), "a process of its own for each call"
        # what it may use holds from the job on
        spins = "export async function run() { for (;;); }"
        tight = msgspec.structs.replace(LIMITS, cpu_seconds=1)
        await call("export async function run() { return 1; }", "", limits=tight)
        await until_it_waits(sandbox)
        report = await call(spins, "", limits=tight)
        assert (report.status, report.limits_hit) == ("limit", ("cpu",)), report
    finally:
        await sandbox.close()
