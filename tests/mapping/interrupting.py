"""Real maps that are ended on the way."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from alita_tui.mapping.journal import JOURNAL


def wait_for_batches(process: subprocess.Popen[str], output: Path, count: int) -> None:
    """Return once a map has written down so many batches."""
    patience = time.monotonic() + 120
    while not ((output / JOURNAL).exists() and (output / JOURNAL).read_bytes().count(b"\n") > count):
        assert time.monotonic() < patience and process.poll() is None
        time.sleep(0.02)


def interrupted(command: Sequence[str], output: Path) -> tuple[int, str]:
    """Start a map and interrupt it after its first batch; return its exit code and what it wrote to stderr."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=_heeds_sigint) as process:
        wait_for_batches(process, output, 1)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
    return process.returncode, said


def _heeds_sigint() -> None:
    """Undo that a job in the background ignores Ctrl+C, which what it starts would inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
