"""A session that is killed anywhere goes on from there. `make crash` tries every place; this one in six."""

import re
import subprocess
import sys
from pathlib import Path


def test_killed_anywhere_it_goes_on_with_nothing_lost_and_nothing_done_twice():
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", "--every", "6"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    killed = re.search(r"killed (\d+) times", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert killed and int(killed[1]) >= 500
