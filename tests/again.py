"""Try what failed in `make test` once more, alone: a test that only failed beside two others is told, and no failure.

Python's own suite does the same (`python -m test --rerun`). An attack that got through once is a failure, though, and
so are more than a few tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILED = 1
"""Exit code of a pytest that ran to its end with failures."""
MOST = 5
"""More failures than these are no accident of a busy machine."""
NEVER = "tests/attack/"
"""Tests that keep a promise to whoever is attacked: they are not tried again."""


def failed(cache: Path) -> list[str]:
    """Return the ids of the tests that failed in the run whose cache folder this is; none if it broke off."""
    try:
        return sorted(json.loads((cache / "v/cache/lastfailed").read_bytes()))
    except FileNotFoundError:
        return []


def may_pass(tests: list[str]) -> bool:
    """Return whether these failures may be the machine's, so that a second run decides."""
    return 0 < len(tests) <= MOST and not any(one.startswith(NEVER) or "::" not in one for one in tests)


def main(ended: int, cache: Path, options: list[str]) -> int:
    """Return the exit code of `make test` after a run that `ended` with a code other than 0."""
    tests = failed(cache)
    if ended != FAILED or not may_pass(tests):
        return ended
    print(f"\nTried again, alone: {len(tests)} that failed beside others.", flush=True)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *options, *tests], check=False)
    if done.returncode == 0:
        print("Passed when alone, to be made steady: " + " ".join(tests))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
