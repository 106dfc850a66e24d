"""What PID 1 does with all processes of the container: reap, kill, clean up between two calls."""

from __future__ import annotations

import os
import signal
from itertools import islice
from typing import NoReturn

from alita_tui.sandbox.warden.confine import contents, empty, renounce

FEW = 16
"""Entries of a folder that the warden removes itself."""


def reap(pid: int) -> int | None:
    """Collect processes that have ended, orphans too; return the wait status of `pid` (-1: any) once it has."""
    while True:
        try:
            ended, wait_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if not ended:
            return None
        if pid in (ended, -1):
            return wait_status


def end_all() -> None:
    """Kill every process of the container but this one; the kernel spares the caller."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def leave() -> NoReturn:
    """End the container: the channel is closed, or the host can no longer rely on it."""
    end_all()
    os._exit(0)


def running() -> list[str]:
    """Return the process ids that this container shows, as text."""
    return [entry for entry in os.listdir("/proc") if entry.isdigit()]


def end_rest() -> None:
    """Kill what a child of a session left, and wait until this process is the only one."""
    end_all()
    while reap(-1) is not None or len(running()) > 1:
        pass


def sweep(uid: int) -> None:
    """Empty /tmp after a child of a session has ended. End the container if anything stays."""
    if not emptied(uid):
        helper = os.fork()  # which may need long, and much memory
        if helper == 0:
            try:
                renounce(uid)
                empty("/tmp", uid)
            finally:
                os._exit(0)
        os.waitpid(helper, 0)
        if os.listdir("/tmp"):
            leave()
    if connected():
        leave()


def emptied(uid: int) -> bool:
    """Remove what a child usually leaves below /tmp, few files in flat folders; return whether it is empty.

    This happens as the child's user, because the warden may not remove another user's files. No other process runs now.
    """
    own_uid = os.geteuid()
    os.seteuid(uid)
    try:
        with os.scandir("/tmp") as folders:
            for folder in islice(folders, FEW):
                with os.scandir(folder.path) as entries:
                    names = [entry.name for entry in islice(entries, FEW)]
                folder_fd = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    for name in names:
                        os.unlink(name, dir_fd=folder_fd)
                finally:
                    os.close(folder_fd)
                os.rmdir(folder.path)
    except OSError:
        return False
    finally:
        os.seteuid(own_uid)
    return not os.listdir("/tmp")


def out_of_memory() -> bool:
    """Return whether the kernel killed a process of this container because memory ran out (cgroup v2)."""
    try:
        with open("/sys/fs/cgroup/memory.events") as lines:
            return any(line.split()[0] == "oom_kill" and line.split()[1] != "0" for line in lines)
    except OSError:
        return False


def connected() -> bool:
    """Return whether connections or ports of an earlier child are still visible."""
    count = 0
    for name in ("sockstat", "sockstat6"):
        try:
            words = contents("/proc/net/" + name).split()
        except OSError:  # gVisor counts them nowhere
            return any(len(socket_table(table)) > 1 for table in ("tcp", "tcp6", "udp", "udp6"))
        # Reading the tables themselves would walk through all of the host's.
        counts = (value for label, value in zip(words, words[1:], strict=False) if label in (b"inuse", b"tw"))
        count += sum(map(int, counts))
        if words[:3] == [b"sockets:", b"used", b"0"]:  # of any kind, IPv6 included
            break
    return count > 0


def socket_table(name: str) -> list[str]:
    """Return the lines of a table in /proc/net, the head included."""
    try:
        with open("/proc/net/" + name) as lines:
            return lines.readlines()
    except OSError:
        return []
