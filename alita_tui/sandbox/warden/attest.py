"""What is true of this process, as the kernel says it."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from typing import Any


def attest() -> dict[str, Any]:
    """What is true of this process, as the kernel says it."""
    status = {}
    with open("/proc/self/status") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            status[name] = value.strip()
    mounts = {}
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            fields = line.split()
            dash = fields.index("-")
            mounts[fields[4]] = fields[5] + "," + fields[dash + 3]
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
        "mounts": mounts,
        "interfaces": interfaces,
        "routes": routes,
        "open_files": list(resource.getrlimit(resource.RLIMIT_NOFILE)),
        "core": list(resource.getrlimit(resource.RLIMIT_CORE)),
        "namespaces": _namespaces(),
        "cgroup": _cgroup(),
        "oom_score": _number("/proc/self/oom_score_adj"),
        "shared_memory": os.access("/dev/shm", os.W_OK),
        "environment": sorted(os.environ),
        "python": list(sys.version_info[:3]),
        "machine": os.uname().machine,
        "libc": _libc(),
    }


def _cgroup() -> dict[str, str]:
    """Limits of cgroup v2 as they hold for this container; nothing where it has none."""
    found = {}
    for name in ("memory.max", "memory.swap.max", "pids.max", "cpu.max"):
        try:
            with open("/sys/fs/cgroup/" + name) as file:
                found[name] = file.read().strip()
        except OSError:
            pass
    return found


def _number(file: str) -> int:
    with open(file) as content:
        return int(content.read())


def _namespaces() -> str:
    """Whether the seccomp profile refuses a new user namespace; asked in a child, which may get one."""
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
