"""A session that is killed, or finds the disk full, anywhere, goes on from there.

`make crash` tries every place; these one in forty.
"""

import re
import subprocess
import sys
from pathlib import Path


def crash(*words: str) -> int:
    """How often it happened; nothing was wrong afterwards."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", *words],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"(\d+) times at \d+ of \d+ points; wrong at 0", done.stdout)
    assert counted, done.stdout
    return int(counted[1])


def test_a_process_killed_anywhere_continues_with_nothing_lost_or_done_twice():
    assert crash("--every", "40") >= 120


def test_after_a_full_disk_a_session_continues_by_itself_or_later():
    assert crash("--every", "40", "--full", "--scene", "console") >= 12
