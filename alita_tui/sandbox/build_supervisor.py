"""Runs one command and leaves nothing of it behind when alita is gone. Standard library only.

    build_supervisor.py RESULT COMMAND...

Its standard input is a pipe that only alita holds open: it closes when alita ends, however that happens. Then all
descendants of the supervisor are killed, and the incomplete result is removed. The command has a folder of its own for
temporary files, which is always removed; files of other user ids in it belong to Podman's user namespace.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_SWEEP_SECONDS = 20.0


def below(top: int) -> list[int]:
    """Return all running descendants of a process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in ("Z", "X"):
                    parents[int(entry.name)] = int(parent)
    descendants, waiting = [], [top]
    while waiting:
        parent_pid = waiting.pop()
        children = [pid for pid, parent in parents.items() if parent == parent_pid]
        descendants += children
        waiting += children
    return descendants


def sweep() -> None:
    """Kill all descendants of this process. It adopts orphans, so none escapes."""
    deadline = time.monotonic() + _SWEEP_SECONDS
    while (descendants := below(os.getpid())) and time.monotonic() < deadline:
        for pid in descendants:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.02)


def main() -> int:
    """Run the command until it or alita ends; return its exit code."""
    library = ctypes.CDLL(None)
    library.prctl(
        1, 0, 0, 0, 0
    )  # PR_SET_PDEATHSIG: the pipe says when alita has ended, and there is work to do then
    library.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(signal_number, signal.SIG_IGN)
    result, command = Path(sys.argv[1]), sys.argv[2:]
    scratch = Path(tempfile.mkdtemp(prefix="alita-image-"))
    scratch.chmod(0o755)  # for the other ids
    code = 1
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(scratch)},
            start_new_session=True,
        )
        ended = os.pidfd_open(process.pid)
        ready, _, _ = select.select([0, ended], [], [])
        code = process.wait() if ended in ready else 1
    finally:
        sweep()
        if code:
            result.unlink(missing_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)
        if scratch.exists() and shutil.which("podman"):
            removing = ["podman", "unshare", "rm", "-rf", "--", str(scratch)]
            subprocess.run(removing, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
