"""What a part of the tests is chosen by: the commit, so that each one tries another part and can be done again."""

from __future__ import annotations

import subprocess
from pathlib import Path


def seed_of_commit() -> int:
    """Return a number for the commit that is checked out; 0 where there is no Git or no repository."""
    return int(_asked("rev-parse", "HEAD")[:8] or "0", 16)


def number_of_commit() -> int:
    """Return how many commits there are up to the one that is checked out; 0 where there is no Git or no repository."""
    return int(_asked("rev-list", "--count", "HEAD") or "0")


def _asked(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
