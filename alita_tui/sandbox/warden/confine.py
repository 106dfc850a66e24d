"""What every process of a draft's or a tool's goes through before anything foreign is in it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import struct
import sys
from typing import Any

from alita_tui.sandbox.warden.sieve import fence, sift

ARCHIVE = sys.path[0]
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
SIGNALS = 256
"""Signals and timers that may wait: they count for the whole account."""
LOCKED = 1 << 16
"""Bytes of memory that may be kept from being moved."""
IMPORT_SECONDS = 20
"""Processor time that imports may take before the job's own counts."""


def become(pipes: tuple[int, int, int, int], uid: int, *, alone: bool = False) -> None:
    """This process as a user of its own: no capability, and of its descriptors these four alone.

    They are stdout, stderr, where it answers and where it hears, and become 1 to 4; 0 is empty. With `alone`,
    what earlier processes of this user left is ended and removed first.
    """
    os.setpgid(0, 0)  # no session of its own: Linux gives each of those a share of the processor of its own
    renounce(uid)
    if alone:  # not to be looked into before this: a changed user leaves a process undumpable
        try:
            os.kill(-1, signal.SIGKILL)  # as this user, so it reaches nobody else
        except ProcessLookupError:
            pass
        empty("/tmp", uid)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: it may read its own /proc/self
    null = os.open("/dev/null", os.O_RDONLY)
    held = [os.dup(fd) for fd in (null, *pipes)]  # clear of the numbers they get
    for target, source in enumerate(held):
        os.dup2(source, target)
    os.closerange(5, 256)
    os.chdir("/tmp")
    os.nice(10)
    fence()
    if not sift():
        os._exit(70)


def settle() -> None:
    """Text streams for what it prints, and nothing of ours within its reach by name."""
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.dont_write_bytecode = True
    sys.argv[:] = [""]
    if ARCHIVE in sys.path:
        sys.path.remove(ARCHIVE)
    for name in [name for name in sys.modules if name == "__main__" or name.startswith("alita_tui")]:
        del sys.modules[name]


def restrict(limits: dict[str, Any]) -> None:
    """Limits of this process; what they are cannot be raised again."""
    memory = limits["memory_bytes"]
    for which, amount in (
        (resource.RLIMIT_AS, memory * 2 + (256 << 20)),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_STACK, 16 << 20),
    ):
        resource.setrlimit(which, (amount, amount))
    for which, amount in ((resource.RLIMIT_SIGPENDING, SIGNALS), (resource.RLIMIT_MEMLOCK, LOCKED)):
        try:
            resource.setrlimit(which, (amount, amount))
        except (ValueError, OSError):  # gVisor keeps its own account of these
            pass
    allow(limits["cpu_seconds"] + IMPORT_SECONDS)


def allow(seconds: float) -> None:
    """Processor time from now on, in whole seconds as the kernel counts them; never more than before."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = max(int(used.ru_utime + used.ru_stime + seconds + 0.999), 1)
    ceiling = resource.getrlimit(resource.RLIMIT_CPU)[1]
    last = most + 1  # a second for a tool that ignores the signal
    if ceiling != resource.RLIM_INFINITY:
        most, last = min(most, ceiling), min(last, ceiling)
    resource.setrlimit(resource.RLIMIT_CPU, (most, last))


def renounce(uid: int) -> None:
    """Become this user and give up every capability for good, or end."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc = ctypes.CDLL(None)
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    libc.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24))
    with open("/proc/self/status") as lines:
        status = dict(line.split(":", 1) for line in lines if ":" in line)
    held = [int(status.get(name, "0"), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")]
    if any(held) or set(map(int, (status["Uid"] + status["Gid"]).split())) != {uid}:
        os._exit(70)


def empty(folder: str, uid: int) -> None:
    """Remove all of this user's that is below a folder, whatever its modes are and however deep it lies.

    One folder is open at a time and nothing is named by its path: a path may be longer than the kernel takes.
    """
    try:
        here = os.open(folder, FOLDER)
    except OSError:
        return
    names: list[str] = []
    inside = [clear(here, uid)]
    while inside:
        try:
            if inside[-1]:
                name = inside[-1].pop()
                below = os.open(name, FOLDER, dir_fd=here)
                os.close(here)
                here = below
                names.append(name)
                inside.append(clear(here, uid))
                continue
            inside.pop()
            if names:
                above = os.open("..", FOLDER, dir_fd=here)
                os.close(here)
                here = above
                os.rmdir(names.pop(), dir_fd=here)
        except OSError:  # another user's, or with another user's in it, or gone meanwhile
            continue
    os.close(here)


def clear(folder: int, uid: int) -> list[str]:
    """Remove this user's files of one folder, and its empty folders; the names of the other folders in it."""
    left = []
    for entry in list(os.scandir(folder)):
        try:
            own = entry.stat(follow_symlinks=False).st_uid == uid
            if not entry.is_dir(follow_symlinks=False):
                if own:
                    os.unlink(entry.name, dir_fd=folder)
                continue
            left.append(entry.name)
            if own:
                os.chmod(entry.name, 0o700, dir_fd=folder)
                os.rmdir(entry.name, dir_fd=folder)
                left.pop()
        except OSError:
            continue
    return left


def share(own: str) -> None:
    """Let the other party use what this one put below /tmp, except its own folder."""
    uid = os.getuid()

    def open_up(folder: str) -> None:
        for entry in os.scandir(folder):
            if entry.path == own or entry.is_symlink():
                continue
            found = entry.stat(follow_symlinks=False)
            inside = stat.S_ISDIR(found.st_mode)
            if found.st_uid == uid:
                os.chmod(entry.path, stat.S_IMODE(found.st_mode) | (0o777 if inside else 0o666))
            if inside:
                open_up(entry.path)

    try:
        open_up("/tmp")
    except OSError:  # it is gone again, or closed by the other
        pass
