"""Memory and processes of the whole container; an rlimit knows only one process."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from alita_tui.sandbox.warden.buffers import Buffers

POLL = 0.05


class Watch:
    """Compares what all processes of the container hold together with the limits."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self.memory = limits["memory_bytes"]
        self.processes = limits["processes"]
        self.peak = 0
        self.buffers = Buffers()
        self.whole = os.path.exists("/proc/sentry-meminfo")
        """True on gVisor, whose kernel is the container's own and has one total for it."""
        self.kernel = figures("/proc/sentry-meminfo")["HeapAlloc"] if self.whole else 0
        """Bytes that this kernel held before the tool; what it holds beyond that is the tool's."""
        self.patience = POLL
        """Seconds until the next look: fewer when half of the memory is used."""

    def exceeded(self) -> str | None:
        """Return the limit that is exceeded right now, or None."""
        pids = [entry for entry in os.listdir("/proc") if entry.isdigit() and entry != "1"]
        if len(pids) + 1 >= self.processes:  # RLIMIT_NPROC counts the warden too
            return "processes"
        total = self.total(pids)
        self.peak = max(self.peak, total)
        self.patience = POLL if total < self.memory / 2 else POLL / 5
        if total > self.memory:
            return "memory"
        files = os.statvfs("/tmp")
        if files.f_files and files.f_files - files.f_ffree > 20000:
            return "inodes"
        return None

    def total(self, pids: list[str]) -> int:
        """Return the bytes of these processes that no file backs, and of their sockets."""
        if self.whole:
            pages = figures("/proc/meminfo")
            grown = figures("/proc/sentry-meminfo")["HeapAlloc"] - self.kernel
            return max(pages["AnonPages"] - pages["Shmem"], 0) + max(grown, 0)  # /tmp has a limit of its own
        total = sum(held(pid, "status", b"Rss") for pid in pids)
        if total > self.memory:  # pages that forks share are counted for each: look closer
            total = sum(self.closely(pid) for pid in pids)
        return total + self.buffers.held(self.memory // 4)

    def closely(self, pid: str) -> int:
        """Return a process's bytes with its share of shared pages; read as its own user, who alone may."""
        try:
            uid = os.stat("/proc/" + pid).st_uid
        except OSError:
            return 0
        own, libc = os.getuid(), ctypes.CDLL(None)
        libc.setfsgid(uid)
        libc.setfsuid(uid)
        try:
            return held(pid, "smaps_rollup", b"Pss_")
        finally:
            libc.setfsuid(own)
            libc.setfsgid(own)


def figures(file: str) -> dict[str, int]:
    """Return the figures in a file of /proc with a name per line, in bytes."""
    with open(file) as lines:
        rows = [line.split() for line in lines]
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in rows if words[-1] == "kB"}


def held(pid: str, file: str, prefix: bytes) -> int:
    """Return the bytes of a process that no file backs, as a file of /proc counts them."""
    try:
        with open("/proc/" + pid + "/" + file, "rb") as open_file:
            fields = open_file.read()
    except OSError:  # it ended, or hides its maps: then every page counts
        return held(pid, "status", b"Rss") if file != "status" else 0
    total = 0
    for name in (b"\n" + prefix + b"Anon:", b"\n" + prefix + b"Shmem:"):
        at = fields.find(name)
        if at >= 0:
            total += int(fields[at + len(name) :].split(None, 1)[0])
    return total * 1024
