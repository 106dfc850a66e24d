"""`python -m tests.crash [--every N]`: kill a session at each change it makes to the disk, resume it, check its end.

While it is resumed it is killed once or twice more. With `--full` the disk is full for a while instead. Each trial is a
process forked from this one, which has imported everything; two run side by side.
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
from tests.crash.faults import FaultInjector
from tests.crash.scene import SCENES, prepare
from tests.crash.verdict import judge, session_id_in

Trial = Callable[[int, Path, str], tuple[int, list[str]]]


def run_in_fork(work: Callable[[], None], errors: Path) -> int:
    """Do it in a fork of this process, and return its wait status. A traceback goes to the file."""
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


def killed_at(point: int, folder: Path, scene: str) -> bool:
    """Begin or resume the session and kill it at a point; return False if it ended by itself before."""

    def work() -> None:
        session_id = session_id_in(folder)
        faults = FaultInjector(point)
        faults.install()
        asyncio.run(SCENES[scene](folder, session_id))
        (folder / "points").write_text(str(faults.points))

    status = run_in_fork(work, folder / "error")
    if not os.WIFSIGNALED(status) and status != 0:
        raise RuntimeError((folder / "error").read_text())
    return os.WIFSIGNALED(status)


def outlasts_full_disk(point: int, folder: Path, scene: str) -> bool:
    """Run the session with a full disk from a point on for a while; return False if it gave up over it."""

    def work() -> None:
        session.RETRY_SECONDS = 0.001
        FaultInjector(point, full_for=1 + point % 7).install()
        try:
            asyncio.run(SCENES[scene](folder, session_id_in(folder)))
        except StoreError:
            os._exit(3)

    status = os.waitstatus_to_exitcode(run_in_fork(work, folder / "error"))
    if status not in (0, 3):
        raise RuntimeError((folder / "error").read_text())
    return status == 0


def full_disk_trial(point: int, root: Path, scene: str) -> tuple[int, list[str]]:
    """Return 1 if the session went on by itself after a full disk, else 0, and what was wrong afterwards."""
    folder = _prepared(root, scene, f"full-{point}")
    return int(outlasts_full_disk(point, folder, scene)), judged(folder, scene)


def kill_trial(point: int, root: Path, scene: str) -> tuple[int, list[str]]:
    """Return how often the session was killed, at the point and then while it resumed, and what was wrong afterwards."""
    folder = _prepared(root, scene, str(point))
    killed = int(killed_at(point, folder, scene))
    chance = random.Random(point)
    for _ in range(2 if point % 3 == 0 else 1):
        killed += killed_at(chance.randrange(1, 200), folder, scene)
    return killed, judged(folder, scene)


def judged(folder: Path, scene: str) -> list[str]:
    """Return what is wrong with what was left, and with the session that goes on from there."""

    def work() -> None:
        (folder / "problems").write_text(json.dumps(judge(folder, scene)))

    if run_in_fork(work, folder / "error"):
        return [(folder / "error").read_text()]
    problems: list[str] = json.loads((folder / "problems").read_text())
    if not problems:
        shutil.rmtree(folder)
    return problems


def points_of(root: Path, scenes: list[str]) -> list[tuple[str, int]]:
    """Run each scene once and return all of its points. This also imports what a session imports, for all forks."""
    points = []
    for scene in scenes:
        prepare(_before(root, scene), scene)
        folder = _prepared(root, scene, "warm")
        asyncio.run(SCENES[scene](folder))
        judge(folder, scene)
        folder = _prepared(root, scene, "count")
        assert not killed_at(0, folder, scene)
        points += [(scene, point + 1) for point in range(int((folder / "points").read_text()))]
    gc.collect()
    gc.freeze()
    return points


def _before(root: Path, scene: str) -> Path:
    return root / f"before-{scene}"


def _prepared(root: Path, scene: str, name: str) -> Path:
    """Return a folder for a trial of a scene."""
    before, folder = _before(root, scene), root / f"{scene}-{name}"
    if before.exists():
        return Path(shutil.copytree(before, folder))
    folder.mkdir()
    return folder


def main() -> int:
    reader = argparse.ArgumentParser()
    reader.add_argument("--every", type=int, default=1, help="try one point in so many")
    reader.add_argument("--begin", type=int, default=0, help="which of them comes first")
    reader.add_argument("--scene", choices=SCENES, help="only this one")
    reader.add_argument("--full", action="store_true", help="fill the disk for a while instead of killing")
    chosen = reader.parse_args()
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="alita-crash-", dir=parent, ignore_cleanup_errors=True) as folder:
        return _run(chosen, Path(folder))


def _run(chosen: argparse.Namespace, root: Path) -> int:
    tempfile.tempdir = str(root)  # a killed process does not clear up
    every = points_of(root, [chosen.scene] if chosen.scene else list(SCENES))
    points = every[chosen.begin :: chosen.every]
    halves = []
    for half in (0, 1):
        child = os.fork()
        if not child:
            trial = full_disk_trial if chosen.full else kill_trial
            os._exit(_try_all(trial, points[half::2], root, root / f"half-{half}"))
        halves.append(child)
    failed = [os.waitpid(child, 0)[1] for child in halves]
    if any(failed):
        return 1
    sums = [json.loads((root / f"half-{half}").read_text()) for half in (0, 1)]
    times, bad = (sum(column) for column in zip(*sums, strict=True))
    outcome = "went on by itself" if chosen.full else "killed"
    print(f"{outcome} {times} times at {len(points)} of {len(every)} points; wrong at {bad}")
    return 1 if bad else 0


def _try_all(trial: Trial, points: list[tuple[str, int]], root: Path, result: Path) -> int:
    bad = killed = 0
    for scene, point in points:
        times, problems = trial(point, root, scene)
        killed += times
        bad += bool(problems)
        for problem in problems:
            print(f"{scene}, point {point}: {problem}", flush=True)
    result.write_text(json.dumps([killed, bad]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
