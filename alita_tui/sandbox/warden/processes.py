"""All processes of the container as PID 1 deals with them: reap, kill, clean up between two calls."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from alita_tui.sandbox.warden.confine import empty, renounce


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


def sweep(uid: int) -> None:
    """Clean up after a child of a session: kill what it left, empty /tmp. End the container if anything stays."""
    end_all()
    while reap(-1) is not None or len(running()) > 1:
        pass
    helper = os.fork()
    if helper == 0:
        try:
            renounce(uid)  # the warden may not remove another user's files
            empty("/tmp", uid)
        finally:
            os._exit(0)
    os.waitpid(helper, 0)
    if os.listdir("/tmp") or connected():
        leave()


def out_of_memory() -> bool:
    """Return whether the kernel killed a process of this container for want of memory (cgroup v2)."""
    try:
        with open("/sys/fs/cgroup/memory.events") as lines:
            return any(line.split()[0] == "oom_kill" and line.split()[1] != "0" for line in lines)
    except OSError:
        return False


def connected() -> bool:
    """Return whether connections or ports of an earlier child can still be seen."""
    count = 0
    for name in ("sockstat", "sockstat6"):
        try:
            with open("/proc/net/" + name) as lines:
                words = lines.read().split()
        except OSError:  # gVisor counts them nowhere
            return any(len(socket_table(table)) > 1 for table in ("tcp", "tcp6", "udp", "udp6"))
        for label, value in zip(words, words[1:], strict=False):
            if label in ("inuse", "tw"):  # reading the tables themselves would walk through all of the host's
                count += int(value)
    return count > 0


def socket_table(name: str) -> list[str]:
    """Return the lines of a table in /proc/net, the head included."""
    try:
        with open("/proc/net/" + name) as lines:
            return lines.readlines()
    except OSError:
        return []
