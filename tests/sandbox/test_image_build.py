"""The build of an image that is broken off: no process of it and no half-made file stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STAND_IN = """#!/bin/sh
echo $$ >> {pids}
( setsid sh -c 'echo $$ >> {pids}; trap "" TERM INT HUP; while :; do sleep 1000; done' ) &
sh -c 'echo $$ >> {pids}; while :; do sleep 1000; done' &
mkdir "$TMPDIR/half" && echo "$TMPDIR" > {scratch}
echo half > {tar}
while [ "$(wc -l < {pids})" -lt 3 ]; do sleep 0.01; done
echo 'I: extracting'
wait
"""
ASKS = """
import asyncio, os, sys
from pathlib import Path
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings

class Here(Host):
    def prepare(self): pass
    def command(self, *argv): return list(argv)
    @property
    def environ(self): return dict(os.environ)

async def main():
    host = object.__new__(Here)
    async for line in host.built(Path(sys.argv[1]), sys.argv[2], "x", seconds=float(sys.argv[3])):
        print(line, flush=True)

asyncio.run(main())
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.mark.parametrize("ends", ["SIGINT", "SIGTERM", "SIGKILL", "time"])
def test_an_interrupted_image_build_leaves_nothing(tmp_path: Path, ends: str) -> None:
    pids, tar, scratch, program = (tmp_path / name for name in ("pids", "image.tar", "scratch", "mmdebstrap"))
    program.write_text(STAND_IN.format(pids=pids, tar=tar, scratch=scratch))
    program.chmod(0o755)
    asking = subprocess.Popen(
        [sys.executable, "-c", ASKS, str(tar), str(program), "3" if ends == "time" else "600"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=Path.cwd(), env={**os.environ, "PYTHONPATH": "."},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert asking.stdout is not None
    assert asking.stdout.readline() == b"I: extracting\n"
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 3 and all(map(alive, started)) and tar.exists()
    if ends != "time":
        asking.send_signal(getattr(signal, ends))
    asking.wait(60)
    asking.stdout.close()
    left = Path(scratch.read_text().strip())
    deadline = time.monotonic() + 30
    while (any(map(alive, started)) or tar.exists() or left.exists()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [pid for pid in started if alive(pid)] and not tar.exists() and not left.exists()
