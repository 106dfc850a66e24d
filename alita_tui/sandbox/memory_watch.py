"""The host's own watch over a container's memory, in case the warden inside gets no processor time.

The warden measures more precisely and more often, and stops a run at its limit. The host ends the whole container of a
run that is far beyond it. Containers on other machines cannot be watched from here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from alita_tui.sandbox.warden.watch import bytes_held
from alita_tui.spine.ports.sandbox import Limits

_INTERVAL_SECONDS = 0.25
_TOLERANCE = 1.25
_OVERHEAD_BYTES = 128 << 20
"""Room for the warden and for gVisor's kernel."""


def limit_bytes(limits: Limits) -> int:
    """Return the bytes of memory at which the host ends a run itself."""
    return int(limits.memory_bytes * _TOLERANCE) + limits.scratch_bytes + _OVERHEAD_BYTES


async def beyond(pid: int, limits: Limits) -> int:
    """Wait until a process and its descendants hold far too much memory; return how many bytes."""
    while True:
        await asyncio.sleep(_INTERVAL_SECONDS)
        pids = family(pid)
        if sum(bytes_held(str(member), "status", b"Rss") for member in pids) > limit_bytes(limits):
            # `status` counts a page that forks share once for each of them: measure precisely.
            total = sum(bytes_held(str(member), "smaps_rollup", b"Pss_") for member in pids)
            if total > limit_bytes(limits):
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
