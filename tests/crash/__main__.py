"""`python -m tests.crash [--every N]`: kill a session at each place, kill it again on the way, judge where it ends.

With `--full` the disk is full there for a while instead. Each trial is a process forked from this one, which
has everything imported; two run side by side.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from alita_tui.app import session
from alita_tui.spine.errors import StoreError
from tests.crash.knife import Knife
from tests.crash.scene import SCENES, furnish
from tests.crash.trial import judge, the_session

Trial = Callable[[int, Path, str], tuple[int, list[str]]]


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


def cut_at(place: int, folder: Path, scene: str) -> bool:
    """Begin the session, or go on with it, and end it there; False when it came to its end first."""

    def work() -> None:
        session_id = the_session(folder)
        knife = Knife(place)
        knife.sharpen()
        asyncio.run(SCENES[scene](folder, session_id))
        (folder / "places").write_text(str(knife.places))

    status = in_a_child(work, folder / "error")
    if not os.WIFSIGNALED(status) and status != 0:
        raise RuntimeError((folder / "error").read_text())
    return os.WIFSIGNALED(status)


def filled_at(place: int, folder: Path, scene: str) -> bool:
    """Play the session while the disk is full for a while; False when it had to be left over it."""

    def work() -> None:
        session.RETRY_SECONDS = 0.001
        Knife(place, refuse=1 + place % 7).sharpen()
        try:
            asyncio.run(SCENES[scene](folder, the_session(folder)))
        except StoreError:
            os._exit(3)

    status = os.waitstatus_to_exitcode(in_a_child(work, folder / "error"))
    if status not in (0, 3):
        raise RuntimeError((folder / "error").read_text())
    return status == 0


def filled(place: int, root: Path, scene: str) -> tuple[int, list[str]]:
    """Whether the session went on over a full disk by itself, and what was wrong afterwards."""
    folder = _furnished(root, scene, f"full-{place}")
    return int(filled_at(place, folder, scene)), judged(folder, scene)


def tried(place: int, root: Path, scene: str) -> tuple[int, list[str]]:
    """How often the session was killed, there and then while it was taken up, and what was wrong afterwards."""
    folder = _furnished(root, scene, str(place))
    killed = int(cut_at(place, folder, scene))
    chance = random.Random(place)
    for _ in range(2 if place % 3 == 0 else 1):
        killed += cut_at(chance.randrange(1, 200), folder, scene)
    return killed, judged(folder, scene)


def judged(folder: Path, scene: str) -> list[str]:
    """What is wrong with what was left, and with the session that goes on from there."""

    def work() -> None:
        (folder / "problems").write_text(json.dumps(judge(folder, scene)))

    if in_a_child(work, folder / "error"):
        return [(folder / "error").read_text()]
    problems: list[str] = json.loads((folder / "problems").read_text())
    if not problems:
        shutil.rmtree(folder)
    return problems


def prepare(root: Path, scenes: list[str]) -> list[tuple[str, int]]:
    """Import whatever a session imports, once for all forks; every place of every scene."""
    places = []
    for scene in scenes:
        furnish(_before(root, scene), scene)
        folder = _furnished(root, scene, "warm")
        asyncio.run(SCENES[scene](folder))
        judge(folder, scene)
        folder = _furnished(root, scene, "count")
        assert not cut_at(0, folder, scene)
        places += [(scene, place + 1) for place in range(int((folder / "places").read_text()))]
    gc.collect()
    gc.freeze()
    return places


def _before(root: Path, scene: str) -> Path:
    return root / f"before-{scene}"


def _furnished(root: Path, scene: str, name: str) -> Path:
    """Return a folder for a trial of a scene."""
    before, folder = _before(root, scene), root / f"{scene}-{name}"
    if before.exists():
        return Path(shutil.copytree(before, folder))
    folder.mkdir()
    return folder


def main() -> int:
    reader = argparse.ArgumentParser()
    reader.add_argument("--every", type=int, default=1, help="try one place of so many")
    reader.add_argument("--begin", type=int, default=0, help="which one of them")
    reader.add_argument("--scene", choices=SCENES, help="only this one")
    reader.add_argument("--full", action="store_true", help="fill the disk there for a while, without a kill")
    chosen = reader.parse_args()
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="alita-crash-", dir=place, ignore_cleanup_errors=True) as folder:
        return _run(chosen, Path(folder))


def _run(chosen: argparse.Namespace, root: Path) -> int:
    tempfile.tempdir = str(root)  # what is killed clears nothing up
    every = prepare(root, [chosen.scene] if chosen.scene else list(SCENES))
    places = every[chosen.begin :: chosen.every]
    halves = []
    for half in (0, 1):
        child = os.fork()
        if not child:
            trial = filled if chosen.full else tried
            os._exit(_try_all(trial, places[half::2], root, root / f"half-{half}"))
        halves.append(child)
    failed = [os.waitpid(child, 0)[1] for child in halves]
    if any(failed):
        return 1
    sums = [json.loads((root / f"half-{half}").read_text()) for half in (0, 1)]
    times, bad = (sum(column) for column in zip(*sums, strict=True))
    what = "went on by itself" if chosen.full else "killed"
    print(f"{what} {times} times at {len(places)} of {len(every)} places; wrong at {bad}")
    return 1 if bad else 0


def _try_all(trial: Trial, places: list[tuple[str, int]], root: Path, result: Path) -> int:
    bad = killed = 0
    for scene, place in places:
        cuts, problems = trial(place, root, scene)
        killed += cuts
        bad += bool(problems)
        for problem in problems:
            print(f"{scene}, place {place}: {problem}", flush=True)
    result.write_text(json.dumps([killed, bad]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
