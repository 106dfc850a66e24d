"""The request that creates a container and confines it. Pure; `attestation` checks the result.

The seccomp profile beside this file allows what a Python tool needs and no more: no namespaces, mounts, keyrings,
io_uring, bpf, memfd or System V memory, and only UNIX, INET, INET6 and route sockets. `clone3` returns ENOSYS so
that the C library falls back to `clone`.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from alita_tui.events import Value
from alita_tui.sandbox import gvisor, syscalls
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Limits

OPEN_FILES = 256
OOM_SCORE = 900
"""When the host runs out of memory, the kernel kills a tool before any of the person's programs."""
CAPABILITIES = {"CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7}
"""Capabilities by bit that the warden needs to give each child its own user id; its children hold none."""
USER_IDS = range(20_000, 60_000)
"""User ids of the processes of all containers. The kernel counts processes by user id."""
_PARTIES = 2
_WARDEN_BYTES = 64 << 20
"""Room for the warden, the judge and the processes beside the one at work."""
_WARDEN_PROCESSES = 8
CPU_PERIOD = 100_000
_REMEMBERED_CONNECTIONS = "net.ipv4.tcp_max_tw_buckets"
"""Sysctl for how many closed connections the kernel remembers: none, as a session's next call could see them."""
_WARDEN = ("/warden.pyz", "/warden/warden.pyz")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LAUNCHER = "/usr/bin/alita-browser"
PAGE_LOG = "/usr/bin/alita-page-log"
BROWSER_POLICY = "/etc/chromium/policies/managed/alita-policy.json"
THREADS = ("OMP_NUMTHREADS", "OPENBLAS_NUMTHREADS", "MKL_NUMTHREADS", "NUMEXPR_NUMTHREADS")


class ContainerSpec(Value, frozen=True):
    """The parts and identity of one container."""

    image: str
    warden: str
    """Path of the warden on the host, or the volume that holds it."""
    seccomp: str
    environment: str = ""
    """Folder or volume with installed requirements; empty for none."""
    inputs: str = ""
    """Folder or volume with the files of one call; empty for none."""
    browser: tuple[str, ...] = ()
    """Paths of the browser's launcher, its policy and what reads its consoles, in a container that has a browser."""
    elsewhere: bool = False
    """True on another machine: volumes instead of folders, nothing of this machine is mounted."""
    uid: int = 20_001
    """The warden's user id, unique per container; its children have the following ones."""
    calls: int = 1
    """How many jobs it takes: one, or as many as a session container does."""
    profile: str = "draft"
    """One of `PROFILES`."""
    labels: dict[str, str] = {}
    controllers: frozenset[str] = frozenset()
    """Controllers of cgroup v2 that are delegated to us."""

    @property
    def warden_at(self) -> str:
        """Return where the warden is mounted."""
        return "/warden" if self.elsewhere else "/warden.pyz"

    @property
    def sources(self) -> dict[str, str]:
        """Return the sources of the read-only mounts, by their place in the container."""
        sources = {self.warden_at: self.warden, "/env": self.environment, "/in": self.inputs}
        sources |= dict(zip((LAUNCHER, BROWSER_POLICY, PAGE_LOG), self.browser, strict=False))
        return {place: source for place, source in sources.items() if source}

    @property
    def uids(self) -> range:
        """Return all its user ids: the warden's, and one per job or one for each party of a trial."""
        return range(self.uid, self.uid + 1 + max(self.calls, _PARTIES))


def create_body(spec: ContainerSpec, limits: Limits) -> dict[str, Any]:
    """Return the create body (libpod API v4) of a container."""
    mounts: list[dict[str, Any]] = [
        {
            "type": "tmpfs",
            "source": "tmpfs",
            "destination": "/tmp",  # noqa: S108  # the container's own
            "options": [f"size={limits.scratch_bytes}", "mode=1777", "nosuid", "nodev", "noexec"],
        },
    ]
    read_only = ["ro", "nosuid", "nodev"]
    volumes: list[dict[str, Any]] = []
    for destination, source in spec.sources.items():
        if spec.elsewhere:
            volumes.append({"Name": source, "Dest": destination, "Options": read_only})
        else:
            bind = {"type": "bind", "source": source, "destination": destination}
            mounts.append({**bind, "options": [*read_only, "rbind"]})
    body: dict[str, Any] = {
        "image": spec.image,
        "command": [
            "python3",
            "-I",
            "-S",
            "-u",
            _WARDEN[spec.elsewhere],
            str(spec.uid + 1),
            str(spec.calls),
            syscalls.refused(),
        ],
        "entrypoint": [],
        "env": {"PATH": _PATH, "LANG": "C.UTF-8", **dict.fromkeys(THREADS, "1")},
        "unsetenvall": True,
        "httpproxy": False,
        "stdin": True,
        "remove": True,
        "netns": {"nsmode": "none"},
        "ipcns": {"nsmode": "none"},
        "read_only_filesystem": True,
        "read_write_tmpfs": False,
        "mask": ["/dev/mqueue"],  # files can be made there without any of the refused calls
        "cap_drop": ["all"],
        "cap_add": list(CAPABILITIES),
        "no_new_privileges": True,
        "user": f"{spec.uid}:{spec.uid}",
        "hostname": "sandbox",
        "work_dir": "/",
        "seccomp_profile_path": spec.seccomp,
        "r_limits": [
            {"type": "nofile", "soft": OPEN_FILES, "hard": OPEN_FILES},
            {"type": "core", "soft": 0, "hard": 0},
        ],
        "oom_score_adj": OOM_SCORE,
        "sysctl": {_REMEMBERED_CONNECTIONS: "0"},
        "log_configuration": {"driver": "none"},
        "use_image_hosts": True,
        "labels": spec.labels,
        "mounts": mounts,
        "volumes": volumes,
    }
    if resource_limits := resources(spec, limits):
        body["resource_limits"] = resource_limits
    return gvisor.adapted_body(body) if spec.profile == "gvisor" else body


def resources(spec: ContainerSpec, limits: Limits) -> dict[str, Any]:
    """Return the cgroup v2 limits: no swap, with room for the warden and for the files in /tmp."""
    cgroup_limits: dict[str, Any] = {}
    if "memory" in spec.controllers:
        memory_bytes = limits.memory_bytes + limits.scratch_bytes + _WARDEN_BYTES
        cgroup_limits["memory"] = {
            "limit": memory_bytes,
            "swap": memory_bytes,
        }  # OCI counts memory in: equal means no swap
    if "pids" in spec.controllers:
        cgroup_limits["pids"] = {"limit": limits.processes + _WARDEN_PROCESSES}
    if "cpu" in spec.controllers:
        cgroup_limits["cpu"] = {"quota": CPU_PERIOD, "period": CPU_PERIOD}  # one processor
    return cgroup_limits


def fresh_uid(taken: Collection[int], count: int = 1) -> int:
    """Return the first of `count` user ids for one container; no two containers share a process count.

    The search starts at random, because another alita on this machine picks from the same numbers. Raise
    SandboxUnavailable where so many in a row are not free.
    """
    lowest, end = USER_IDS.start, USER_IDS.stop - count + 1
    start = lowest + int.from_bytes(os.urandom(4), "big") % (end - lowest)
    for first, stop in ((start, end), (lowest, start)):
        while first < stop:
            clash = next((used for used in range(first + count - 1, first - 1, -1) if used in taken), None)
            if clash is None:
                return first
            first = clash + 1
    raise SandboxUnavailable(
        "There are no user ids left for another container.",
        hint="Let fewer run at once: fewer lanes, or fewer tasks.",
    )
