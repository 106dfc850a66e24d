"""The warden's report on its own confinement, as the kernel shows it."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from typing import Any


def attest() -> dict[str, Any]:
    """Return what the kernel shows of this process, its limits and its mounts."""
    status = {}
    with open("/proc/self/status") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            status[name] = value.strip()
    mounted = []
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            fields = line.split()
            dash = fields.index("-")
            options = fields[5] + "," + fields[dash + 3]
            mounted.append([fields[4], fields[dash + 1], fields[3], fields[2], options, _entries(fields[4])])
    with open("/proc/net/dev") as lines:
        interfaces = sorted(line.split(":")[0].strip() for line in lines if ":" in line)
    with open("/proc/net/route") as lines:
        routes = max(len(lines.readlines()) - 1, 0)
    return {
        "pid": os.getpid(),
        "kernel": "gvisor" if os.path.exists("/proc/sentry-meminfo") else os.uname().sysname,
        "no_new_privs": ctypes.CDLL(None).prctl(39, 0, 0, 0, 0),  # PR_GET_NO_NEW_PRIVS
        "seccomp": int(status.get("Seccomp", -1)),
        "capabilities": [int(status.get("Cap" + n, "-1"), 16) for n in ("Inh", "Prm", "Eff", "Bnd", "Amb")],
        "uid": [int(n) for n in status.get("Uid", "").split()],
        "gid": [int(n) for n in status.get("Gid", "").split()],
        "mounted": mounted,
        "devices": _devices(),
        "interfaces": interfaces,
        "routes": routes,
        "open_files": list(resource.getrlimit(resource.RLIMIT_NOFILE)),
        "core": list(resource.getrlimit(resource.RLIMIT_CORE)),
        "namespaces": _namespaces(),
        "let_through": _let_through(),
        "cgroup": _cgroup(),
        "oom_score": _number("/proc/self/oom_score_adj"),
        "closed_connections": _number("/proc/sys/net/ipv4/tcp_max_tw_buckets"),
        "shared_memory": os.access("/dev/shm", os.W_OK),
        "environment": sorted(os.environ),
        "python": list(sys.version_info[:3]),
        "machine": os.uname().machine,
        "libc": _libc(),
    }


def _entries(path: str) -> int:
    """Return the number of entries in a folder, 9 at most; -1 for a file."""
    if path == "/" or not os.path.isdir(path):
        return 9 if path == "/" else -1
    try:
        with os.scandir(path) as entries:
            return sum(1 for _, _ in zip(entries, range(9), strict=False))
    except OSError:
        return 0


def _devices() -> dict[str, list[int]]:
    """Return the names in /dev with their device numbers."""
    numbers = {}
    for entry in os.scandir("/dev"):
        state = entry.stat(follow_symlinks=False)
        numbers[entry.name] = [os.major(state.st_rdev), os.minor(state.st_rdev)]
    return numbers


def _let_through() -> list[int]:
    """Return which of the system calls that the host names the filter does not refuse.

    Each is called with invalid arguments in a child, so that the effects of a call that is let through stay there.
    """
    hexadecimal = sys.argv[3].split(":")[os.uname().machine == "aarch64"]
    bits = int(hexadecimal[::-1], 16)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.alarm(10)
        open_calls, own_pid = [], os.getpid()
        for number in [position for position in range(len(hexadecimal) * 4) if bits >> position & 1]:
            if libc.syscall(number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() not in (1, 38):
                open_calls.append(number)
        for number, *arguments in _PARTLY_REFUSED[os.uname().machine == "aarch64"]:
            outcome = libc.syscall(number, *arguments)
            if os.getpid() != own_pid:
                os._exit(0)  # the child of a clone that was not refused
            if outcome != -1 or ctypes.get_errno() != 1:
                open_calls.append(number)
        os.write(writing, json.dumps(open_calls).encode())
        os._exit(0)
    os.close(writing)
    answer = b""
    while piece := os.read(reading, 65536):
        answer += piece
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    return [int(number) for number in json.loads(answer)] if status == 0 else [-1, status]


_NEW_USER, _INJECT, _MPTCP, _OTHER_PROCESS = 0x10000011, 0x5412, 262, 1 << 22
_PARTLY_REFUSED = tuple(
    (
        (clone, _NEW_USER, 0, 0, 0, 0),
        (ioctl, -1, _INJECT, 0),
        (socket, 2, 1, _MPTCP),
        (socket, 40, 1, 0),
        (prlimit, _OTHER_PROCESS, 7, 0, 0),
        (setpriority, 0, _OTHER_PROCESS, 19),
    )
    for clone, ioctl, socket, prlimit, setpriority in ((56, 16, 41, 302, 141), (220, 29, 198, 261, 140))
)
"""Calls that are allowed in part, with arguments that must be refused, by processor: x86-64, arm64."""


def _cgroup() -> dict[str, str]:
    """Return the container's cgroup v2 limits; an empty dict where it has no cgroup."""
    limits = {}
    for name in ("memory.max", "memory.swap.max", "pids.max", "cpu.max"):
        try:
            with open("/sys/fs/cgroup/" + name) as file:
                limits[name] = file.read().strip()
        except OSError:
            pass
    return limits


def _number(file: str) -> int:
    try:
        with open(file) as content:
            return int(content.read())
    except OSError:
        return -1


def _namespaces() -> str:
    """Return whether a new user namespace is refused; a child tries, as it may get one."""
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    return "refused" if os.waitpid(child, 0)[1] else "allowed"


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""
