"""Processes of containers that Podman has lost: found by the container's id, its name or its mounts, and ended.

Whoever kills Podman's service, its conmon or the runtime half way leaves what the others of them began, and Podman
lists no container for it, or one that never ran. conmon and the runtime name the container in their command
line. What the runtime began and nobody started (`runc init`) names it in its environment.
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
"""A container's name begins with it; then come owner and number."""
_OWN = re.compile(rf"{PREFIX}(\d+\.\d+\.[0-9a-f]+)-\d+")
_WATCHERS = ("conmon",)
_RUNTIMES = ("runc", "crun", "runsc")
_ID_DIGITS = 64
_STATE = b"_LIBCONTAINER_STATEDIR="
_NOTE_SECONDS = 1.0
_END_SECONDS = 3.0


class _Process:
    """What a process of Podman's says of its container."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        words = _read(pid, "cmdline").split(b"\0")
        self.words = [word.decode("utf-8", "replace") for word in words if word]
        self.program = Path(self.words[0]).name if self.words else ""
        self.waits = self.words[1:] == ["init"] and self.program in _RUNTIMES
        """True for a container's first process that nobody has started yet."""
        environ = _read(pid, "environ").split(b"\0") if self.waits else []
        folder = next((one for one in environ if one.startswith(_STATE)), b"")
        self.container = folder.rpartition(b"/")[2].decode("utf-8", "replace")

    def of(self, containers: Collection[str]) -> bool:
        if self.waits:
            return self.container in containers
        if self.program not in _WATCHERS and not self.program.startswith(_RUNTIMES):
            return False
        return any(
            one == word or (len(one) == _ID_DIGITS and one in word)
            for word in self.words[1:]
            for one in containers
        )

    @property
    def named(self) -> tuple[str, str]:
        """Owner and id of the container that a conmon watches, by the name that alita gave it."""
        for word in self.words if self.program in _WATCHERS else ():
            if found := _OWN.fullmatch(word):
                return found[1], self.words[self.words.index("-c") + 1] if "-c" in self.words else ""
        return "", ""


def stuck(container: str) -> bool:
    """True where a container was made, waits to be started, and no runtime is there any more to do it."""
    found = [one for one in map(_Process, table()) if one.of((container,))]
    return any(one.waits for one in found) and not any(
        one.program.startswith(_RUNTIMES) and not one.waits for one in found
    )


def end(containers: Collection[str]) -> int:
    """End every process of these containers, by id or name; how many there were. Blocks until they are gone.

    What runs inside goes first: its conmon notes that, and has Podman remove the container.
    """
    ended: set[int] = set()
    began = time.monotonic()
    while containers and time.monotonic() - began < _END_SECONDS:
        living = table()
        ours = {one.pid: one for one in map(_Process, living) if one.of(containers)}
        watchers = {pid for pid, one in ours.items() if one.program in _WATCHERS}
        every = set(ours).union(*(below(pid, living, spared=("podman",)) for pid in ours))
        if not every:
            break
        for pid in every if time.monotonic() - began > _NOTE_SECONDS else every - watchers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended |= every
        time.sleep(0.02)
    return len(ended)


def lost(alive: Callable[[str], bool]) -> set[str]:
    """Containers with processes here whose alita is gone, whether Podman lists them or not."""
    living = table()
    found = [_Process(pid) for pid in living]
    gone = {container for owner, container in (one.named for one in found) if owner and not alive(owner)}
    watched = {one.pid for one in found if one.program in _WATCHERS or one.program.startswith(_RUNTIMES)}
    for one in found:  # no conmon above it: whoever would have started it was killed
        if one.waits and one.container and living[one.pid][0] not in watched and _ours(one.pid):
            gone.add(one.container)
    return gone - {""}


def _ours(pid: int) -> bool:
    """True where alita's warden is mounted in it."""
    lines = _read(pid, "mountinfo").splitlines()
    return any(line.split()[4:5] in ([b"/warden.pyz"], [b"/warden"]) for line in lines)


def _read(pid: int, what: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{what}").read_bytes()
    return b""
