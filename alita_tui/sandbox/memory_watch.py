"""The host's own watch over a container's memory, in case the warden inside gets no processor time.

The warden looks closer and more often, and stops a run at its limit. The host ends the whole container of a run that is
far beyond it. Containers on other machines cannot be watched from here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from alita_tui.sandbox.warden.watch import held
from alita_tui.spine.ports.sandbox import Limits

_EVERY_SECONDS = 0.25
_TIMES = 1.25
_BESIDE = 128 << 20
"""Room for the warden and for gVisor's kernel."""


def most(limits: Limits) -> int:
    """Return the bytes at which the host ends a run itself."""
    return int(limits.memory_bytes * _TIMES) + limits.scratch_bytes + _BESIDE


async def beyond(pid: int, limits: Limits) -> int:
    """Wait until a process and its descendants hold far too much memory; return how much."""
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        pids = family(pid)
        if sum(held(str(member), "status", b"Rss") for member in pids) > most(limits):
            # `status` counts pages that forks share once for each: look closer.
            total = sum(held(str(member), "smaps_rollup", b"Pss_") for member in pids)
            if total > most(limits):
                return total


def family(pid: int) -> list[int]:
    """Return a process and all its living descendants."""
    members = [pid]
    for member in members:
        threads: list[Path] = []
        with suppress(OSError):  # it may end at any moment
            threads = [*Path(f"/proc/{member}/task").iterdir()]
        for thread in threads:
            with suppress(OSError):
                members += map(int, (thread / "children").read_text().split())
    return members
