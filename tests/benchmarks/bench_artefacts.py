"""Files in and out: storing one, data that goes through the model, runs side by side."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job
from alita_tui.store.artefacts import SessionArtefacts

Row = Callable[..., dict[str, float | str | None]]
_MB = 200
_CALLS = 20
_SLOW = "import time\ndef run(n):\n    time.sleep(0.2)\n    return n\n"


def artefacts(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """MB per second that are stored, against a plain copy; twenty calls side by side, against one by one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, plain = _stored(folder)
        results["artefact.put_mb_per_second"] = row(ours, "MB/s", plain)
        together, alone = asyncio.run(_calls(folder))
    results["artefact.calls_20_together_seconds"] = row(together, "s", alone)


def _stored(folder: Path) -> tuple[float, float]:
    source = folder / "source.bin"
    source.write_bytes(os.urandom(1 << 20) * _MB)
    rates: list[tuple[float, float]] = []
    for number in range(4):
        started = time.perf_counter()
        SessionArtefacts(folder / f"s{number}.artefacts", 10**9).add(source)
        ours = time.perf_counter() - started
        started = time.perf_counter()
        with source.open("rb") as given, (folder / f"copy{number}").open("wb") as copy:
            while piece := given.read(1 << 20):
                copy.write(piece)
            copy.flush()
            os.fsync(copy.fileno())
        rates.append((_MB / ours, _MB / (time.perf_counter() - started)))
    return statistics.median(a for a, _ in rates[1:]), statistics.median(b for _, b in rates[1:])


async def _calls(folder: Path) -> tuple[float, float]:
    sandbox = PodmanSandbox(EngineSettings(cache_dir=str(folder / "cache")), "bench")
    try:
        await sandbox.prepare(lambda *_: None)

        async def call(n: int) -> None:
            job = Job(run_id=f"r{n}", module="slow", code=_SLOW, arguments={"n": n})
            report = await sandbox.run(job, lambda *_: None, lambda *_: None)
            assert report.result == n, report

        room = asyncio.Semaphore(4)  # as the agent's loop has it

        async def in_turn(n: int) -> None:
            async with room:
                await call(n)

        await call(0)
        started = time.perf_counter()
        for n in range(_CALLS):
            await call(n)
        alone = time.perf_counter() - started
        started = time.perf_counter()
        await asyncio.gather(*(in_turn(n) for n in range(_CALLS)))
        return time.perf_counter() - started, alone
    finally:
        await sandbox.close()
