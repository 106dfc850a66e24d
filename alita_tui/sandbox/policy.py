"""What a container may be: the create body for a job, and what must be seen from inside. Pure.

The seccomp profile beside this file allows what a Python tool needs and no more: no namespaces,
no mounts, no keyrings, no io_uring, no bpf, no memfd or System V memory, and only UNIX, INET,
INET6 and route sockets. `clone3` answers ENOSYS so that the C library falls back to `clone`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from alita_tui.events import Value
from alita_tui.sandbox import calls, gvisor
from alita_tui.sandbox.install_limits import InstallLimits
from alita_tui.sandbox.mounts import strange
from alita_tui.spine.ports.sandbox import Limits

_OPEN_FILES = 256
OOM_SCORE = 900
"""Where the host runs out of memory, the kernel ends a tool before anything of a person's."""
PROFILES = ("draft", "gvisor")
"""How a container may be confined. `draft`: nothing is granted, one run, thrown away. `gvisor`: the same on
a kernel of its own (see `sandbox.gvisor`)."""
_CAPABILITIES = {"CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7}
"""What the warden holds, by bit, to give each child a user id of its own; its children hold nothing."""
_PARTIES = 2
_WARDEN_BYTES = 64 << 20
"""Of the warden, and of the judge and what it holds beside the process at work."""
_WARDEN_PROCESSES = 8
_CPU_PERIOD = 100_000
_FORGET = "net.ipv4.tcp_max_tw_buckets"
"""How many closed connections are remembered: none, as the next call of a session could see them."""
_WARDEN = ("/warden.pyz", "/warden/warden.pyz")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class SandboxSettings(Value, frozen=True):
    """How the sandbox is set up on this machine."""

    data_dir: str
    cache_dir: str
    images: tuple[str, ...] = ("docker.io/library/python:3.12-slim",)
    """References that may be pulled as base image, in this order."""
    image_tar: str = ""
    """A root file system as tar, imported as base image."""
    pull: bool = True
    tag: str = "localhost/alita-base:1"
    """Name of the base image once it is here, however it came."""
    profile: str = "draft"
    """One of `PROFILES`."""
    account: str = "alita-sandbox"
    """Unprivileged account that runs Podman when alita itself runs as root."""
    area: str = ""
    """Folder for environments, warden and profile, readable for the account; empty: one of our own."""
    socket: str = ""
    """Path of a running Podman service; empty: alita starts its own."""
    engines: tuple[str, ...] = ("local",)
    """Where containers run: `local`, `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`."""
    ssh_config: str = ""
    """A file that is used instead of the person's own ssh configuration."""
    pool_hot: int = 0
    """Containers that wait with the imports of the last tool done, for each environment."""
    pool_warm: int = 0
    """Containers that wait with nothing imported, for each environment."""
    pool_environments: int = 3
    """Environments that containers wait for; the one unused for longest goes first."""
    session_calls: bool = False
    """Whether calls of an approved build may share a container, each with processes and a uid of its own."""
    environments_mb: int = 4096
    """Room for installed requirements; those unused for longest go first."""
    install_limits: InstallLimits = InstallLimits()
    """What the requirements of one tool may take of it."""
    pull_seconds: float = 600.0
    build_seconds: float = 1200.0


def default_settings(data_dir: Path, cache_dir: Path) -> SandboxSettings:
    """Settings for these folders."""
    return SandboxSettings(data_dir=str(data_dir), cache_dir=str(cache_dir))


class Place(Value, frozen=True):
    """What one container is given."""

    image: str
    warden: str
    """Path of the warden on the host, or the volume that it is in."""
    seccomp: str
    environment: str = ""
    """Folder or volume with installed requirements; empty for none."""
    elsewhere: bool = False
    """True on another machine: volumes instead of folders, nothing of this machine is mounted."""
    uid: int = 20_001
    """The warden's, unique per container; those of the processes that it begins follow."""
    calls: int = 1
    """How many jobs it takes: one, or as many as a session container does."""
    profile: str = "draft"
    """One of `PROFILES`."""
    labels: dict[str, str] = {}
    controllers: frozenset[str] = frozenset()
    """Controllers of cgroup v2 that are delegated to us."""

    @property
    def warden_at(self) -> str:
        """Where the warden is mounted."""
        return "/warden" if self.elsewhere else "/warden.pyz"

    @property
    def uids(self) -> range:
        """Every uid that its processes have: the warden's, and one a job, or those of a trial's two parties."""
        return range(self.uid, self.uid + 1 + max(self.calls, _PARTIES))


def spec(place: Place, limits: Limits) -> dict[str, Any]:
    """The create body (libpod API v4) of a container that holds one run."""
    given = [(place.warden, place.warden_at)] + ([(place.environment, "/env")] if place.environment else [])
    mounts: list[dict[str, Any]] = [
        {
            "type": "tmpfs",
            "source": "tmpfs",
            "destination": "/tmp",  # noqa: S108  # the container's own
            "options": [f"size={limits.scratch_bytes}", "mode=1777", "nosuid", "nodev", "noexec"],
        },
    ]
    readonly = ["ro", "nosuid", "nodev"]
    volumes: list[dict[str, Any]] = []
    for source, destination in given:
        if place.elsewhere:
            volumes.append({"Name": source, "Dest": destination, "Options": readonly})
        else:
            bind = {"type": "bind", "source": source, "destination": destination}
            mounts.append({**bind, "options": [*readonly, "rbind"]})
    body: dict[str, Any] = {
        "image": place.image,
        "command": [
            "python3",
            "-I",
            "-S",
            "-u",
            _WARDEN[place.elsewhere],
            str(place.uid + 1),
            str(place.calls),
            calls.refused(),
        ],
        "entrypoint": [],
        "env": {"PATH": _PATH, "LANG": "C.UTF-8", **dict.fromkeys(_THREADS, "1")},
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
        "cap_add": list(_CAPABILITIES),
        "no_new_privileges": True,
        "user": f"{place.uid}:{place.uid}",
        "hostname": "sandbox",
        "work_dir": "/",
        "seccomp_profile_path": place.seccomp,
        "r_limits": [
            {"type": "nofile", "soft": _OPEN_FILES, "hard": _OPEN_FILES},
            {"type": "core", "soft": 0, "hard": 0},
        ],
        "oom_score_adj": OOM_SCORE,
        "sysctl": {_FORGET: "0"},
        "log_configuration": {"driver": "none"},
        "use_image_hosts": True,
        "labels": place.labels,
        "mounts": mounts,
        "volumes": volumes,
    }
    if resources := _resources(place, limits):
        body["resource_limits"] = resources
    return gvisor.asked(body) if place.profile == "gvisor" else body


def _resources(place: Place, limits: Limits) -> dict[str, Any]:
    """What cgroup v2 is to hold: no swap, room for the warden and for what lies in /tmp."""
    found: dict[str, Any] = {}
    if "memory" in place.controllers:
        most = limits.memory_bytes + limits.scratch_bytes + _WARDEN_BYTES
        found["memory"] = {"limit": most, "swap": most}  # OCI counts memory in: equal means no swap
    if "pids" in place.controllers:
        found["pids"] = {"limit": limits.processes + _WARDEN_PROCESSES}
    if "cpu" in place.controllers:
        found["cpu"] = {"quota": _CPU_PERIOD, "period": _CPU_PERIOD}  # one processor
    return found


def deviations(seen: dict[str, Any], place: Place, limits: Limits) -> list[str]:
    """How what the warden saw of its own confinement differs from the profile; empty when it holds."""
    problems: list[str] = []

    def want(name: str, good: bool) -> None:
        if not good:
            problems.append(f"{name} is {str(seen.get(name))[:120]}")

    own_kernel = place.profile == "gvisor"
    want("kernel", seen.get("kernel") == ("gvisor" if own_kernel else "Linux"))
    want("no_new_privs", seen.get("no_new_privs") == 1)
    want("seccomp", seen.get("seccomp") == 2)
    mask = sum(1 << bit for bit in _CAPABILITIES.values())
    held = seen.get("capabilities", [])
    want("capabilities", held[:4] == [mask] * 4 and held[4:] == [gvisor.NO_AMBIENT if own_kernel else mask])
    want("uid", seen.get("uid") == [place.uid] * 4)
    want("gid", seen.get("gid") == [place.uid] * 4)
    want("pid", seen.get("pid") == 1)
    want("interfaces", seen.get("interfaces") == ["lo"])
    want("routes", seen.get("routes") == 0)
    want("open_files", seen.get("open_files") == [_OPEN_FILES, _OPEN_FILES])
    want("core", seen.get("core") == [0, 0])
    want("namespaces", seen.get("namespaces") == "refused")
    want("let_through", seen.get("let_through") == [])
    want("closed_connections", own_kernel or seen.get("closed_connections") == 0)
    want("oom_score", own_kernel or isinstance(seen.get("oom_score"), int) and seen["oom_score"] >= OOM_SCORE)
    want("shared_memory", seen.get("shared_memory") is False)
    want("environment", set(seen.get("environment", ["?"])) <= {"LANG", "LC_CTYPE", *_THREADS, *_PODMAN_SETS})
    asked = _resources(place, limits)
    group = seen.get("cgroup", {})
    if "memory" in asked:
        want(
            "cgroup",
            group.get("memory.max") == str(asked["memory"]["limit"]) and group.get("memory.swap.max") == "0",
        )
    if "pids" in asked:
        want("cgroup", group.get("pids.max") == str(asked["pids"]["limit"]))
    if "cpu" in asked:
        want("cgroup", group.get("cpu.max") == f"{_CPU_PERIOD} {_CPU_PERIOD}")
    mounts = seen.get("mounts", {})
    ours = ("/", "/tmp", place.warden_at, "/env")  # noqa: S108
    options = {where: set(mounts.get(where, "").split(",")) for where in ours}
    want("root", "ro" in options["/"])
    tmp = options["/tmp"]  # noqa: S108
    shown = {"noexec"} if own_kernel else {"nosuid", "nodev", "noexec"}
    want("tmp", shown <= tmp and _small(tmp, limits.scratch_bytes))
    want("mqueue", "/dev/mqueue" not in mounts or "ro" in mounts["/dev/mqueue"].split(","))
    want("warden", "ro" in options[place.warden_at])
    want("env", not place.environment or "ro" in options["/env"])
    given = {place.warden_at: place.warden, "/env": place.environment}
    if place.elsewhere:
        given = {where: f"{name}/_data" for where, name in given.items()}
    if not place.environment:
        del given["/env"]
    problems += strange(seen.get("mounted"), seen.get("devices"), given, own_kernel=own_kernel)
    return problems


def _small(options: set[str], most: int) -> bool:
    """True when a tmpfs is sized, and no larger than `most` bytes rounded up to a page."""
    found = [one for option in options if (one := re.fullmatch(r"size=(\d+)(k?)", option))]
    return bool(found) and max(int(one[1]) << (10 if one[2] else 0) for one in found) <= most + _LARGEST_PAGE


_LARGEST_PAGE = 65_536
_PODMAN_SETS = ("PATH", "TERM", "HOSTNAME", "container", "HOME")


def fresh_uid(taken: Collection[int], count: int = 1) -> int:
    """The first of some uids for one container, so that no two at a time share a process count.

    Random, because another alita on this machine picks from the same numbers.
    """
    while True:
        uid = 20_000 + int.from_bytes(os.urandom(4), "big") % 40_000
        if not any(one in taken for one in range(uid, uid + count)):
            return uid
