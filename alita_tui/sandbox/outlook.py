"""The host's own look at a container's memory, for when the warden inside does not come to its turn.

The warden looks closer and oftener and stops a run at its limit. Here a run is ended, with its whole container, that is
far past it. Containers on other machines have no processes here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from alita_tui.spine.ports.sandbox import Limits

_EVERY_SECONDS = 0.25
_TIMES = 1.25
_BESIDE = 128 << 20
"""Of the warden, and of the kernel that gVisor is."""


def most(limits: Limits) -> int:
    """Bytes at which the host ends a run itself."""
    return int(limits.memory_bytes * _TIMES) + limits.scratch_bytes + _BESIDE


async def beyond(pid: int, limits: Limits) -> int:
    """Wait until the processes below this one, and it, hold more than they may ever; how much that was."""
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        pids = family(pid)
        if sum(held(one, "status", "Rss") for one in pids) > most(limits):
            # Pages that forks share count for each of them there: look closer.
            total = sum(held(one, "smaps_rollup", "Pss_") for one in pids)
            if total > most(limits):
                return total


def family(pid: int) -> list[int]:
    """A process and all below it, as far as they are there."""
    found = [pid]
    for one in found:
        for tasks in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, tasks.read_text().split())
    return found


def held(pid: int, file: str, prefix: str) -> int:
    """Bytes of a process that no file backs."""
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
    except OSError:  # it ended, or nobody may look closer: then every page counts
        return held(pid, "status", "Rss") if file != "status" else 0
    names = (f"{prefix}Anon:", f"{prefix}Shmem:")
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(names))
