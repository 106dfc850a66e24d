"""Killed with real containers around it, alita goes on, and no container is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scene import WITNESS_LOG
from tests.crash.verdict import judge, session_id_in

pytestmark = pytest.mark.podman

SESSION = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.crash.scene import in_containers
asyncio.run(in_containers(Path(sys.argv[2])))
"""


def killed_at(folder: Path, kind: str) -> None:
    """Run the session and kill it when the first event of a kind is received; the witness log stays."""
    log = folder / WITNESS_LOG
    os.mkfifo(log)
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(Path(__file__).parents[2]), str(folder)]
    ) as process:
        witnessed = []
        with log.open() as lines:
            for line in lines:
                witnessed.append(line)
                if line.split()[-1] == kind:
                    process.kill()
        process.kill()
    assert process.returncode == -signal.SIGKILL and any(line.split()[-1] == kind for line in witnessed)
    log.unlink()
    log.write_text("".join(witnessed))


def containers(home: Path, session_id: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "alita_tui", "--home", str(home), "sandbox", "pool", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    return [one for one in json.loads(shown.stdout)["containers"] if one["session"] == session_id]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "kind",
    ["SandboxChecked", "BuildReviewed", "ApprovalRequested", "ToolCalled"],
)
def test_a_killed_session_continues_and_leaves_no_container(
    sandbox_ready: None, tmp_path: Path, kind: str
) -> None:
    killed_at(tmp_path, kind)
    session_id = session_id_in(tmp_path)
    assert session_id is not None
    assert judge(tmp_path, "containers") == []
    patience = time.monotonic() + 20
    while left := containers(tmp_path / "home", session_id):
        assert time.monotonic() < patience, left
