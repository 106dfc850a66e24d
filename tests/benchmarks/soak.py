"""Two hours' worth of tasks of one session, with models and tools that take no time; print memory and pace as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from pathlib import Path

from alita_tui import events as e
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import CloseSession, SubmitTask
from tests.agent.lab import Lab, say

_BLOCK = 100
"""Tasks between two looks."""


def resident_mb() -> float:
    """Return the memory that this process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


async def soak(folder: Path, count: int) -> dict[str, float]:
    """Do so many tasks, two at a time; return what each of the last block added, and how long blocks took."""
    replies = (say("find_tool", query="a finder"), say("plan", steps=["a", "b"]), say("answer", text="done"))
    lab = Lab(folder, rules=[Rule(role="orchestrator", match="TASK: ", replies=replies)], parallel=2)
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
        lab.engine.send(SubmitTask(text=f"task {number} about {number * 7919}"))
        await until(number)
        if number % _BLOCK == _BLOCK - 1:
            lab.asked.clear()  # the test's own, not the product's
            gc.collect()
            looks.append((resident_mb(), time.monotonic()))
    await until(count)
    lab.engine.send(CloseSession())
    await running
    assert [one.outcome for one in lab.events(e.TaskFinished)] == ["answered"] * count
    (first, began), (second, _), *_, (before, late), (last, end) = looks
    return {
        "early_kb": (second - first) * 1024 / _BLOCK,
        "late_kb": (last - before) * 1024 / _BLOCK,
        "early_ms": (looks[1][1] - began) * 1000 / _BLOCK,
        "late_ms": (end - late) * 1000 / _BLOCK,
        "peak_mb": last,
    }


def main(count: int) -> None:
    """Print what it took."""
    with tempfile.TemporaryDirectory(prefix="alita-soak-") as folder:
        print(json.dumps(asyncio.run(soak(Path(folder), count))))


if __name__ == "__main__":
    main(int(sys.argv[1]))
