"""Watches memory and processes of the whole container; an rlimit applies to one process only."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from alita_tui.sandbox.warden.buffers import Buffers

POLL = 0.05


class Watch:
    """Compares the memory and the number of all processes of the container with the limits."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self.memory = limits["memory_bytes"]
        self.processes = limits["processes"]
        self.peak = 0
        self.buffers = Buffers()
        self.own_kernel = os.path.exists("/proc/sentry-meminfo")
        """True on gVisor, where the container has a kernel of its own, with a total for the container."""
        self.kernel = figures("/proc/sentry-meminfo")["HeapAlloc"] if self.own_kernel else 0
        """Bytes that this kernel held before the tool started; what it holds beyond that counts as the tool's."""
        self.patience = POLL
        """Seconds until the next check; fewer once half of the memory is used."""

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
        """Return the bytes of memory of these processes that no file backs, and of their sockets."""
        if self.own_kernel:
            pages = figures("/proc/meminfo")
            kernel_growth = figures("/proc/sentry-meminfo")["HeapAlloc"] - self.kernel
            return max(pages["AnonPages"] - pages["Shmem"], 0) + max(
                kernel_growth, 0
            )  # /tmp has a limit of its own
        total = sum(bytes_held(pid, "status", b"Rss") for pid in pids)
        if total > self.memory:  # pages that forks share are counted for each of them: measure precisely
            total = sum(self.proportional_bytes(pid) for pid in pids)
        return total + self.buffers.bytes_held(self.memory // 4)

    def proportional_bytes(self, pid: str) -> int:
        """Return a process's bytes with its share of shared pages; read as its user, because nobody else may."""
        try:
            uid = os.stat("/proc/" + pid).st_uid
        except OSError:
            return 0
        own_uid, libc = os.getuid(), ctypes.CDLL(None)
        libc.setfsgid(uid)
        libc.setfsuid(uid)
        try:
            return bytes_held(pid, "smaps_rollup", b"Pss_")
        finally:
            libc.setfsuid(own_uid)
            libc.setfsgid(own_uid)


def figures(file: str) -> dict[str, int]:
    """Return the figures in a file of /proc with a name per line, in bytes."""
    with open(file) as lines:
        rows = [line.split() for line in lines]
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in rows if words[-1] == "kB"}


def bytes_held(pid: str, file: str, prefix: bytes) -> int:
    """Return the bytes of memory of a process that no file backs, as a file of /proc counts them."""
    try:
        with open("/proc/" + pid + "/" + file, "rb") as open_file:
            fields = open_file.read()
    except OSError:  # it ended, or hides its maps: then every page counts
        return bytes_held(pid, "status", b"Rss") if file != "status" else 0
    total = 0
    for name in (b"\n" + prefix + b"Anon:", b"\n" + prefix + b"Shmem:"):
        position = fields.find(name)
        if position >= 0:
            total += int(fields[position + len(name) :].split(None, 1)[0])
    return total * 1024
