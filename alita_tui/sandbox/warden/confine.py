"""Confines a process of a draft or a tool before foreign code runs in it."""

from __future__ import annotations

import os
import resource
import signal
import stat
import struct
import sys
import time
from typing import Any

from alita_tui.sandbox.warden.lockdown import LIBC, install_filter, restrict_writes

ARCHIVE = sys.path[0]
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
SIGNALS = 256
"""Pending signals and timers, which count for the whole account."""
LOCKED = 1 << 16
"""Bytes of memory that may be locked."""
IMPORT_SECONDS = 20
"""CPU time that imports may take before that of the job counts."""


def become(pipes: tuple[int, int, int, int], uid: int, *, alone: bool = False) -> None:
    """Become this user: without capabilities, and with only these four descriptors.

    They are stdout, stderr, answers and orders, and become 1 to 4; 0 is empty. With `alone`, processes of this user are
    killed and its files removed first.
    """
    os.setpgid(0, 0)  # no session of its own: Linux gives each session its own share of the processor
    renounce(uid)
    if alone:  # nobody can inspect it before this: a change of user makes a process undumpable
        end_others(uid)
        empty("/tmp", uid)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: it may read its own /proc/self
    take_over(pipes)
    os.chdir("/tmp")
    os.nice(10)
    restrict_writes()
    if not install_filter():
        os._exit(70)


def take_over(pipes: tuple[int, int, int, int]) -> None:
    """Make these descriptors 1 to 4, an empty input 0, and close all others."""
    null = os.open("/dev/null", os.O_RDONLY)
    copies = [os.dup(fd) for fd in (null, *pipes)]  # clear of the numbers they get
    for target, source in enumerate(copies):
        os.dup2(source, target)
    os.closerange(5, 256)


def settle() -> None:
    """Open text streams for output, and hide the warden."""
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.dont_write_bytecode = True
    sys.argv[:] = [""]
    hide_warden()


def hide_warden() -> None:
    """Remove the warden from `sys.path` and `sys.modules`, unless that is done. Its functions can still be called."""
    if ARCHIVE in sys.path:
        sys.path.remove(ARCHIVE)
        for name in [name for name in sys.modules if name == "__main__" or name.startswith("alita_tui")]:
            del sys.modules[name]


def restrict(limits: dict[str, Any]) -> None:
    """Set this process's limits, which it cannot raise again."""
    memory = limits["memory_bytes"]
    reserved = limits["reserved_bytes"]  # address space alone: the watch limits what is used of it
    for which, amount in (
        (resource.RLIMIT_AS, memory * 2 + (256 << 20) + reserved),
        (resource.RLIMIT_DATA, memory + reserved),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_STACK, 16 << 20),
    ):
        resource.setrlimit(which, (amount, amount))
    for which, amount in ((resource.RLIMIT_SIGPENDING, SIGNALS), (resource.RLIMIT_MEMLOCK, LOCKED)):
        try:
            resource.setrlimit(which, (amount, amount))
        except (ValueError, OSError):  # gVisor counts these itself
            pass
    allow(limits["cpu_seconds"] + IMPORT_SECONDS)


def allow(seconds: float) -> None:
    """Limit the CPU time from now on, in the kernel's whole seconds; never raise an earlier limit."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft_limit = max(int(used.ru_utime + used.ru_stime + seconds + 0.999), 1)
    maximum = resource.getrlimit(resource.RLIMIT_CPU)[1]
    hard_limit = soft_limit + 1  # a second for a tool that ignores the signal
    if maximum != resource.RLIM_INFINITY:
        soft_limit, hard_limit = min(soft_limit, maximum), min(hard_limit, maximum)
    resource.setrlimit(resource.RLIMIT_CPU, (soft_limit, hard_limit))


def renounce(uid: int) -> None:
    """Become this user and drop every capability for good, or end this process."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    LIBC.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    LIBC.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24))
    *capabilities, uids, gids = status_of("self", b"CapInh", b"CapPrm", b"CapEff", b"CapAmb", b"Uid", b"Gid")
    if any(int(mask or b"0", 16) for mask in capabilities) or {*map(int, (uids + gids).split())} != {uid}:
        os._exit(70)


def end_others(uid: int) -> None:
    """Kill every other process of this user, and wait until they have ended: one that still runs could write."""
    own_pid = str(os.getpid())
    while True:
        try:
            os.kill(-1, signal.SIGKILL)  # as this user, so it reaches nobody else
        except ProcessLookupError:
            return
        if not any(
            _lives(entry, uid) for entry in os.listdir("/proc") if entry.isdigit() and entry != own_pid
        ):
            return
        time.sleep(0.001)


def _lives(process: str, uid: int) -> bool:
    """Return whether a process is this user's and has not ended."""
    try:
        uids, state = status_of(process, b"Uid", b"State")
    except OSError:  # it is gone
        return False
    return int(uids.split()[0]) == uid and state.split()[0] not in (b"Z", b"X")


def status_of(process: str, *names: bytes) -> list[bytes]:
    """Return fields of a process's status in /proc, empty where there is none. Raise OSError where it is gone."""
    data = contents(f"/proc/{process}/status")
    return [data.partition(b"\n" + name + b":")[2].partition(b"\n")[0] for name in names]


def contents(path: str) -> bytes:
    """Return a file of /proc. Raise OSError. A file object would take longer to make than this takes."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.read(file, 1 << 16):
            data += piece
        return data
    finally:
        os.close(file)


def empty(folder: str, uid: int) -> None:
    """Remove everything of this user below a folder, whatever its modes and depth.

    One folder is open at a time, and no path is used, as it may be longer than the kernel accepts.
    """
    try:
        current_fd = os.open(folder, FOLDER)
    except OSError:
        return
    names: list[str] = []
    remaining = [clear(current_fd, uid)]
    while remaining:
        try:
            if remaining[-1]:
                name = remaining[-1].pop()
                child_fd = os.open(name, FOLDER, dir_fd=current_fd)
                os.close(current_fd)
                current_fd = child_fd
                names.append(name)
                remaining.append(clear(current_fd, uid))
                continue
            remaining.pop()
            if names:
                parent_fd = os.open("..", FOLDER, dir_fd=current_fd)
                os.close(current_fd)
                current_fd = parent_fd
                os.rmdir(names.pop(), dir_fd=current_fd)
        except OSError:  # another user's, or with another user's in it, or gone meanwhile
            continue
    os.close(current_fd)


def clear(folder: int, uid: int) -> list[str]:
    """Remove this user's files and empty folders from a folder; return the names of the other folders in it."""
    remaining = []
    for entry in list(os.scandir(folder)):
        try:
            is_own = entry.stat(follow_symlinks=False).st_uid == uid
            if not entry.is_dir(follow_symlinks=False):
                if is_own:
                    os.unlink(entry.name, dir_fd=folder)
                continue
            remaining.append(entry.name)
            if is_own:
                os.chmod(entry.name, 0o700, dir_fd=folder)
                os.rmdir(entry.name, dir_fd=folder)
                remaining.pop()
        except OSError:
            continue
    return remaining


def share(own_folder: str) -> None:
    """Make what this party wrote below /tmp accessible for the other one, except its own folder."""
    uid = os.getuid()

    def make_accessible(folder: str) -> None:
        for entry in os.scandir(folder):
            if entry.path == own_folder or entry.is_symlink():
                continue
            status = entry.stat(follow_symlinks=False)
            is_folder = stat.S_ISDIR(status.st_mode)
            if status.st_uid == uid:
                os.chmod(entry.path, stat.S_IMODE(status.st_mode) | (0o777 if is_folder else 0o666))
            if is_folder:
                make_accessible(entry.path)

    try:
        make_accessible("/tmp")
    except OSError:  # removed meanwhile, or the other party's
        pass
