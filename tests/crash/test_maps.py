"""A map that is killed, or whose disk is full, at any write goes on to the same end."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--full",)], ids=["killed", "full"])
@pytest.mark.parametrize("scene", ["map", "map-once"])
def test_a_map_survives_a_kill_or_a_full_disk_at_any_write(scene: str, how: tuple[str, ...]) -> None:
    """A fifth of the points; `make crash` tries them all."""
    command = [sys.executable, "-m", "tests.crash", "--scene", scene, "--every", "5", "--begin", "2", *how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
