"""Repositories made for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    subprocess.run(("git", *identity, "-C", str(folder), *words), check=True, capture_output=True)


def put(folder: Path, name: str, text: str = "x\n") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
