"""Finds, lists and locks the runs of suites on disk, and reads which of their cases have ended or wait."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.beginning import SETUP, folder_of_runs
from alita_tui.app.evaluation.costs import HOMES, RESULTS
from alita_tui.app.evaluation.waiting import pending_in
from alita_tui.config.paths import shipped
from alita_tui.evaluation.results import CaseResult, Setup, lines
from alita_tui.events import ready
from alita_tui.spine.errors import StoreLocked, UsageError
from alita_tui.spine.ports.builds import ParkedBuild
from alita_tui.spine.text import one_line
from alita_tui.store import disk

_LOCK = "lock"
_TRIES, _PAUSE_SECONDS = 10, 0.05


def suite_path(given: Path) -> Path:
    """Return the path of a suite: the given one, or if that does not exist, the shipped suite of that name."""
    ships = shipped("suites") / given
    with suppress(OSError):  # such as a name that is too long
        return ships if not given.exists() and len(given.parts) == 1 and ships.is_dir() else given
    return given


def find_run(app: AppContext, wanted: str) -> tuple[Setup, Path]:
    """Return a run and its folder, by its name, the beginning of its name, or `last`. Raises UsageError."""
    names = [setup.run for setup in runs(app)]
    matches = (
        names[-1:] if wanted == "last" else [n for n in names if n == wanted] or _starting(names, wanted)
    )
    if len(matches) != 1:
        problem = "There is no run" if not matches else "More than one run begins with"
        raise UsageError(f"{problem} {one_line(wanted, 80)!r}.", hint="`alita eval list` shows them.")
    folder = folder_of_runs(app) / matches[0]
    return _setup(folder), folder


def _starting(names: list[str], wanted: str) -> list[str]:
    return [name for name in names if wanted and name.startswith(wanted)]


def runs(app: AppContext) -> list[Setup]:
    """Return all runs that can be read, oldest first."""
    setups = []
    with suppress(OSError):
        for folder in folder_of_runs(app).iterdir():
            with suppress(UsageError):
                setups.append(_setup(folder))
    return sorted(setups, key=lambda setup: (setup.started_at, setup.run))


def _setup(folder: Path) -> Setup:
    try:
        return msgspec.json.decode((folder / SETUP).read_bytes(), type=ready(Setup))
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder / SETUP} cannot be read: {one_line(str(error), 200)}.") from error


def results_of(folder: Path) -> tuple[CaseResult, ...]:
    """Return the cases of a run that ended. Raises StoreError."""
    return lines(disk.read_bytes(folder / RESULTS) or b"")


def append_result(folder: Path, result: CaseResult) -> None:
    """Write a result to disk, whole and synced. Raises StoreError."""
    path = folder / RESULTS
    line = msgspec.json.encode(result) + b"\n"
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                line = b"\n" + line  # a kill cut the last line short
            disk.write_all(handle, line, size)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise disk.store_error("written", path, error) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a run, so that no other process executes it. Raises StoreLocked."""
    with (folder / _LOCK).open("a") as file:
        for left in range(_TRIES, -1, -1):  # `is_running` of another process holds the lock for a moment
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if not left:
                    raise StoreLocked(
                        f"The run {folder.name} is going on in another process.",
                        hint="Wait for it, or end it.",
                    ) from error
                time.sleep(_PAUSE_SECONDS)
        yield


def is_running(folder: Path) -> bool:
    """Return whether a process executes this run now."""
    try:
        with (folder / _LOCK).open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # no process has executed it yet
    return False


def waiting(folder: Path) -> list[tuple[Path, ParkedBuild]]:
    """Return the builds of a run that wait for a person, each with the case's home."""
    ended = set() if _setup(folder).stream else {result.home for result in results_of(folder)}
    homes = [home for home in sorted((folder / HOMES).glob("*")) if f"{HOMES}/{home.name}" not in ended]
    return [(home, build) for home in homes for build in pending_in(home) if not build.verdict]
