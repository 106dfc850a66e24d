"""Disks that are full or read-only for a while."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.json"


@pytest.fixture
def frozen(path: Path):
    """A folder that cannot be written, for root as well."""
    folder = path.parent / "frozen"
    folder.mkdir()
    if os.geteuid() == 0:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "mode=700", "none", folder], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("no mount rights here")
    yield folder
    if os.geteuid() == 0:
        subprocess.run(["umount", folder], check=True)
    else:
        folder.chmod(0o700)


def freeze(folder: Path) -> None:
    if os.geteuid() == 0:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    else:
        folder.chmod(0o500)
