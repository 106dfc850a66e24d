"""Clusters of real processes on loopback, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOUBLING = ROOT / "tests/support/servers/cluster_worker.py"


def alita(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alita_tui", "--home", str(home), *words],
        capture_output=True,
        text=True,
        check=False,
    )


def founded(folder: Path, *others: Path) -> None:
    """Make a cluster in the folder of one machine, and the folders of others."""
    from alita_tui.mapping.cluster.authority import make_cluster, sign_for

    assert make_cluster(folder)
    for other in others:
        sign_for(folder, other)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def process(*command: str, said: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Start a part of a cluster, and wait until it says something. SIGTERM ends it."""
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
    ) as started:  # fmt: skip
        try:
            assert started.stdout is not None
            lines = []
            for line in started.stdout:
                lines.append(line)
                if said in line:
                    break
            else:
                raise AssertionError("".join(lines))
            yield started
        finally:
            if started.poll() is None:
                started.terminate()
                try:
                    started.wait(30)
                except subprocess.TimeoutExpired:
                    started.kill()
                    raise


def scheduling(home: Path, port: int) -> Any:
    return process(
        "-m", "alita_tui", "--home", str(home), "worker", "--scheduler", f"127.0.0.1:{port}", said="listens"
    )


def doubling(folder: Path, port: int, log: Path, **environ: str) -> Any:
    return process(str(DOUBLING), str(folder), f"tls://127.0.0.1:{port}", str(log), said="Working", **environ)
