"""Finds and ends the processes of containers that Podman has lost, by the container's id, name or mounts.

When Podman's service, conmon or the runtime is killed half way, the processes that the others started stay, and Podman
lists no container for them, or one that never ran. conmon and the runtime have the container in their command line; a
container's first process that was never started (`runc init`) has it in its environment.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from alita_tui.sandbox.podman_supervisor import below, table

PREFIX = "alita-"
"""Prefix of each container's name; owner and number follow."""
_OWN = re.compile(rf"{PREFIX}(\d+\.\d+\.[0-9a-f]+)-\d+")
_WATCHERS = ("conmon",)
_RUNTIMES = ("runc", "crun", "runsc")
_ID_DIGITS = 64
_STATE = b"_LIBCONTAINER_STATEDIR="
_NOTE_SECONDS = 1.0
_END_SECONDS = 3.0


class _Process:
    """One of Podman's processes, and the container that it belongs to."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        words = _read(pid, "cmdline").split(b"\0")
        self.words = [word.decode("utf-8", "replace") for word in words if word]
        self.program = Path(self.words[0]).name if self.words else ""
        self.unstarted = self.words[1:] == ["init"] and self.program in _RUNTIMES
        """True for a container's first process that was not started yet."""
        environ = _read(pid, "environ").split(b"\0") if self.unstarted else []
        folder = next((variable for variable in environ if variable.startswith(_STATE)), b"")
        self.container = folder.rpartition(b"/")[2].decode("utf-8", "replace")

    def belongs_to(self, containers: Collection[str]) -> bool:
        if self.unstarted:
            return self.container in containers
        if self.program not in _WATCHERS and not self.program.startswith(_RUNTIMES):
            return False
        return any(
            container == word or (len(container) == _ID_DIGITS and container in word)
            for word in self.words[1:]
            for container in containers
        )

    @property
    def watched_container(self) -> tuple[str, str]:
        """Return owner and id of the container that a conmon watches, by the name that alita gave it."""
        for word in self.words if self.program in _WATCHERS else ():
            if name := _OWN.fullmatch(word):
                return name[1], self.words[self.words.index("-c") + 1] if "-c" in self.words else ""
        return "", ""


def stuck(container: str) -> bool:
    """Return whether a container waits to be started and no runtime is left to start it."""
    processes = [process for process in map(_Process, table()) if process.belongs_to((container,))]
    starters = [
        process for process in processes if process.program.startswith(_RUNTIMES) and not process.unstarted
    ]
    return any(process.unstarted for process in processes) and not starters


def end(containers: Collection[str]) -> int:
    """End every process of these containers, by id or name; return how many. Blocks until they are gone.

    What runs inside is killed first, so that its conmon records that and has Podman remove the container.
    """
    ended: set[int] = set()
    began = time.monotonic()
    while containers and time.monotonic() - began < _END_SECONDS:
        living = table()
        members = {
            process.pid: process for process in map(_Process, living) if process.belongs_to(containers)
        }
        watchers = {pid for pid, process in members.items() if process.program in _WATCHERS}
        all_pids = set(members).union(*(below(pid, living, spared=("podman",)) for pid in members))
        if not all_pids:
            break
        for pid in all_pids if time.monotonic() - began > _NOTE_SECONDS else all_pids - watchers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended |= all_pids
        time.sleep(0.02)
    return len(ended)


def lost(alive: Callable[[str], bool]) -> set[str]:
    """Return the containers with processes here whose alita is gone, whether Podman lists them or not."""
    living = table()
    processes = [_Process(pid) for pid in living]
    names = (process.watched_container for process in processes)
    lost_ids = {container for owner, container in names if owner and not alive(owner)}
    starters = {process.pid for process in processes if process.program.startswith((*_WATCHERS, *_RUNTIMES))}
    for process in processes:  # without a parent that would start it
        parent = living[process.pid][0]
        if process.unstarted and process.container and parent not in starters and _has_warden(process.pid):
            lost_ids.add(process.container)
    return lost_ids - {""}


def _has_warden(pid: int) -> bool:
    """Return whether alita's warden is mounted in a process's container."""
    lines = _read(pid, "mountinfo").splitlines()
    return any(line.split()[4:5] in ([b"/warden.pyz"], [b"/warden"]) for line in lines)


def _read(pid: int, name: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""
