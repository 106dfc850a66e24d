"""The host ends a container that holds too much even where the warden inside is kept from looking."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.conversation import converse
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.memory_watch import family, limit_bytes
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.warden.watch import bytes_held
from alita_tui.spine.ports.sandbox import Job, Limits

LIMITS = Limits(wall_seconds=20, memory_bytes=96 << 20, scratch_bytes=8 << 20, processes=24)
GREEDY = """
import os, time
print('on', flush=True)
time.sleep(0.5)
for _ in range(8):
    if os.fork() == 0:
        held = b'x' * (60 << 20)
        time.sleep(60)
time.sleep(60)
"""


@pytest.mark.podman
async def test_memory_is_stopped_from_outside_while_the_warden_sleeps(settings: EngineSettings) -> None:
    sandbox = PodmanSandbox(settings, "outlook")
    try:
        await sandbox.prepare(lambda *_: None)
        container = await sandbox._containers.make(Kind(limits=LIMITS))
        on = asyncio.Event()
        job = Job(run_id="t", module="greedy", code=GREEDY, limits=LIMITS)
        running = asyncio.create_task(converse(container, job, lambda *_: on.set()))
        await asyncio.wait_for(on.wait(), 180)
        inside = family(container.pid)
        os.kill(container.pid, signal.SIGSTOP)
        report = await running
        assert (report.status, report.reason) == ("limit", "memory"), report
        assert limit_bytes(LIMITS) < report.peak_memory_bytes < 2 * limit_bytes(LIMITS)
        assert not container.alive and not any(bytes_held(str(pid), "status", b"Rss") for pid in inside)
        await sandbox._containers.end(container)
    finally:
        await sandbox.close()


@pytest.mark.walk
def test_processes_that_end_while_they_are_counted_are_left_out() -> None:
    """The gate of mutants broke off on one of them."""
    spawning = "import os\nprint(flush=True)\nwhile True:\n    if not os.fork(): os._exit(0)\n    os.wait()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", "import os\nfor _ in range(3): os.fork()\n" + spawning],
        stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    try:
        sizes = {len(family(process.pid)) for _ in range(1500)}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert max(sizes) > min(sizes) >= 1, "nothing ended while it was counted"
