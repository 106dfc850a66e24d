"""Two hours' worth of tasks of one session, with models and tools that take no time; print memory and pace as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from alita_tui import events as e
from alita_tui.events import RunReport
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import CloseSession, SubmitTask
from tests.agent.lab import Lab, say
from tests.agent.tool_lab import DOUBLE

_RUN = say("run_tool", name="double_it", arguments={"x": 4})
_READ = 2_000
"""Words that each task reads."""


def resident_mb() -> float:
    """Return the memory that this process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


async def soak(
    folder: Path, count: int, *, block: int = 100, memory_mb: Callable[[], float] = resident_mb
) -> dict[str, float]:
    """Do so many tasks, two at a time; return what each of the last block added, and how long blocks took.

    There is a look at the memory after each `block` of tasks.
    """
    replies = (say("find_tool", query="double a number"), _RUN, say("answer", text="done"))
    lab = Lab(folder, rules=[Rule(role="orchestrator", match="TASK: ", replies=replies)], parallel=2)
    lab.shelf.register(DOUBLE, e.Lock(), approval_id="p0", digest=e.BuildDigest(DOUBLE.digest), sources=())
    lab.pages = True
    lab.reopen()
    await lab.begin()
    running = asyncio.create_task(lab.engine.run())
    looks: list[tuple[float, float]] = []
    ended = seen = 0

    async def until(wanted: int) -> None:
        nonlocal ended, seen
        while ended < wanted:
            await asyncio.sleep(0.001)
            ended += sum(1 for _ in lab.bus.history.of(e.TaskFinished, since=seen))
            seen = len(lab.bus.history)

    for number in range(count):
        read = RunReport(status="ok", exit_code=0, result=4, stdout=f"{number} " + "word " * _READ)
        lab.sandbox.runs.append(read)
        lab.engine.send(SubmitTask(text=f"task {number} about {number * 7919}"))
        await until(number)
        if number % block == block - 1:
            lab.asked.clear()  # the test's own, not the product's
            lab.sandbox.jobs.clear()
            gc.collect()
            looks.append((memory_mb(), time.monotonic()))
    await until(count)
    lab.engine.send(CloseSession())
    await running
    assert [one.outcome for one in lab.events(e.TaskFinished)] == ["answered"] * count
    (first, began), (second, _), *_, (before, late), (last, end) = looks
    return {
        "early_kb": (second - first) * 1024 / block,
        "late_kb": (last - before) * 1024 / block,
        "early_ms": (looks[1][1] - began) * 1000 / block,
        "late_ms": (end - late) * 1000 / block,
        "peak_mb": last,
    }


def main(count: int) -> None:
    """Print what it took."""
    with tempfile.TemporaryDirectory(prefix="alita-soak-") as folder:
        print(json.dumps(asyncio.run(soak(Path(folder), count))))


if __name__ == "__main__":
    main(int(sys.argv[1]))
