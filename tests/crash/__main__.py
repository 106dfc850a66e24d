"""`python -m tests.crash [--places A:B:STEP] [--folder DIR]`: kill a session at each place, go on, judge.

Each place is a process forked from this one, which has everything imported; two run side by side.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from crash.knife import Knife
from crash.scene import play
from crash.trial import judge


def in_a_child(work: Callable[[], None], errors: Path) -> int:
    """Do it in a fork of this process; its wait status. A traceback goes to the file."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        errors.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def cut_at(place: int, folder: Path) -> bool:
    """Begin the session and end it there; False when it came to its end first."""

    def work() -> None:
        knife = Knife(place)
        knife.sharpen()
        asyncio.run(play(folder))
        (folder / "places").write_text(str(knife.places))

    status = in_a_child(work, folder / "error")
    if not os.WIFSIGNALED(status) and status != 0:
        raise RuntimeError((folder / "error").read_text())
    return os.WIFSIGNALED(status)


def tried(place: int, root: Path) -> tuple[bool, list[str]]:
    """Whether the session was killed there, and what was wrong afterwards."""
    folder = Path(tempfile.mkdtemp(dir=root, prefix=f"at-{place}-"))
    killed = cut_at(place, folder)

    def work() -> None:
        (folder / "problems").write_text(json.dumps(judge(folder)))

    if in_a_child(work, folder / "error"):
        return killed, [(folder / "error").read_text()]
    problems = json.loads((folder / "problems").read_text())
    if not problems:
        shutil.rmtree(folder)
    return killed, problems


def places_of(root: Path) -> int:
    """How many places the session has."""
    folder = Path(tempfile.mkdtemp(dir=root, prefix="whole-"))
    assert not cut_at(0, folder)
    return int((folder / "places").read_text())


def warm(root: Path) -> None:
    """Import whatever a session imports, once for all forks."""
    folder = Path(tempfile.mkdtemp(dir=root, prefix="warm-"))
    asyncio.run(play(folder))
    judge(folder)
    gc.collect()
    gc.freeze()


def main() -> int:
    reader = argparse.ArgumentParser()
    reader.add_argument("--every", type=int, default=1, help="try one place of so many")
    reader.add_argument("--first", type=int, default=1)
    reader.add_argument("--last", type=int, default=0)
    chosen = reader.parse_args()
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="alita-crash-", dir=memory if os.access(memory, os.W_OK) else None))
    warm(root)
    last = chosen.last or places_of(root)
    places = range(chosen.first, last + 1, chosen.every)
    pipes = []
    for half in (0, 1):
        child = os.fork()
        if not child:
            bad = killed = 0
            for place in places[half::2]:
                cut, problems = tried(place, root)
                killed += cut
                bad += bool(problems)
                for problem in problems:
                    print(f"place {place}: {problem}", flush=True)
            (root / f"half-{half}").write_text(json.dumps([killed, bad]))
            os._exit(0)
        pipes.append(child)
    for child in pipes:
        os.waitpid(child, 0)
    sums = [json.loads((root / f"half-{half}").read_text()) for half in (0, 1)]
    killed, bad = (sum(column) for column in zip(*sums, strict=True))
    print(f"killed at {killed} of {last} places; something was wrong at {bad}")
    if not bad:
        shutil.rmtree(root)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
