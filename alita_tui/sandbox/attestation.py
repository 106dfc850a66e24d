"""Compares the warden's report on its confinement with the profile. Pure.

A mount is identified by its mount point, the type of its file system, the part of it that is mounted, its options and
the number of its entries. See proc(5), `mountinfo`, and
https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import msgspec

from alita_tui.events import ready
from alita_tui.sandbox import gvisor
from alita_tui.sandbox.policy import (
    CAPABILITIES,
    CPU_PERIOD,
    OOM_SCORE,
    OPEN_FILES,
    THREADS,
    ContainerSpec,
    resources,
)
from alita_tui.spine.ports.sandbox import Limits

_LARGEST_PAGE = 65_536
_VARIABLES = {"LANG", "LC_CTYPE", *THREADS, "PATH", "TERM", "HOSTNAME", "container", "HOME"}
"""Environment variables that the profile or Podman sets."""
_DEVICES = {
    "null": [1, 3],
    "zero": [1, 5],
    "full": [1, 7],
    "random": [1, 8],
    "urandom": [1, 9],
    "tty": [5, 0],
}
_OTHER_DEVICES = {"console", "core", "fd", "mqueue", "ptmx", "pts", "shm", "stderr", "stdin", "stdout"}
_OWN_FILE_SYSTEMS = {"/proc": ("proc",), "/dev": ("tmpfs",), "/dev/pts": ("devpts",), "/tmp": ("tmpfs",)}  # noqa: S108
"""Types of the file systems that the runtime creates for this container, by mount point."""
_CGROUPS = ("cgroup", "cgroup2")
_WRITTEN_BY_PODMAN = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/passwd", "/etc/group", "/run/.containerenv",
    "/run/secrets",
)  # fmt: skip


class Mount(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """One line of the warden's list of mounts."""

    where: str
    kind: str
    root: str
    """The part of the file system that is mounted."""
    device: str
    flags: str
    entries: int
    """Number of entries in it; -1 for a file."""

    @property
    def options(self) -> set[str]:
        """Return the mount's options and those of its file system."""
        return set(self.flags.split(","))

    @property
    def readonly(self) -> bool:
        """Return whether nothing can be written there."""
        return "ro" in self.options


def deviations(report: dict[str, Any], spec: ContainerSpec, limits: Limits) -> list[str]:
    """Return how the warden's report differs from the profile; an empty list if it matches."""
    problems: list[str] = []

    def expect(name: str, matches: bool) -> None:
        if not matches:
            problems.append(f"{name} is {str(report.get(name))[:120]}")

    own_kernel = spec.profile == "gvisor"
    expect("kernel", report.get("kernel") == ("gvisor" if own_kernel else "Linux"))
    expect("no_new_privs", report.get("no_new_privs") == 1)
    expect("seccomp", report.get("seccomp") == 2)
    mask = sum(1 << bit for bit in CAPABILITIES.values())
    capabilities = report.get("capabilities", [])
    expect(
        "capabilities",
        capabilities[:4] == [mask] * 4 and capabilities[4:] == [gvisor.NO_AMBIENT if own_kernel else mask],
    )
    expect("uid", report.get("uid") == [spec.uid] * 4)
    expect("gid", report.get("gid") == [spec.uid] * 4)
    expect("pid", report.get("pid") == 1)
    expect("interfaces", report.get("interfaces") == ["lo"])
    expect("routes", report.get("routes") == 0)
    expect("open_files", report.get("open_files") == [OPEN_FILES, OPEN_FILES])
    expect("core", report.get("core") == [0, 0])
    expect("namespaces", report.get("namespaces") == "refused")
    expect("let_through", report.get("let_through") == [])
    expect("closed_connections", own_kernel or report.get("closed_connections") == 0)
    expect(
        "oom_score",
        own_kernel or isinstance(report.get("oom_score"), int) and report["oom_score"] >= OOM_SCORE,
    )
    expect("shared_memory", report.get("shared_memory") is False)
    expect("environment", set(report.get("environment", ["?"])) <= _VARIABLES)
    expect("cgroup", _holds(report.get("cgroup", {}), resources(spec, limits)))
    return problems + _mount_deviations(report, spec, limits, own_kernel=own_kernel)


def _holds(cgroup: dict[str, str], limits: dict[str, Any]) -> bool:
    """Return whether the container has every requested limit."""
    requested: dict[str, str] = {}
    if "memory" in limits:
        requested |= {"memory.max": str(limits["memory"]["limit"]), "memory.swap.max": "0"}
    if "pids" in limits:
        requested["pids.max"] = str(limits["pids"]["limit"])
    if "cpu" in limits:
        requested["cpu.max"] = f"{CPU_PERIOD} {CPU_PERIOD}"
    return requested.items() <= cgroup.items()


def _mount_deviations(
    report: dict[str, Any], spec: ContainerSpec, limits: Limits, *, own_kernel: bool
) -> list[str]:
    """Return unexpected mounts, and those with other options than the profile's."""
    try:
        mounts = msgspec.convert(report.get("mounted"), ready(list[Mount]))
    except msgspec.ValidationError as error:
        return [f"the mounts cannot be read: {error}"]
    counts = Counter(mount.where for mount in mounts)
    covered = [where for where, count in counts.items() if count > 1 and where != "/dev/mqueue"]
    problems = [f"there is more than one mount at {where}" for where in covered]
    tops = {mount.where: mount for mount in mounts}  # a later mount covers an earlier one
    sources = spec.sources
    problems += [
        f"{where} is not mounted read-only" for where in ("/", *sources) if not _readonly(tops, where)
    ]
    if "/dev/mqueue" in tops and not tops["/dev/mqueue"].readonly:
        problems.append("/dev/mqueue is writable")
    tmp = tops["/tmp"].options if "/tmp" in tops else set()  # noqa: S108
    required = {"noexec"} if own_kernel else {"nosuid", "nodev", "noexec"}
    if not required <= tmp or not _sized_within(tmp, limits.scratch_bytes):
        problems.append(f"the scratch folder is mounted as {','.join(sorted(tmp))[:120]}")
    if spec.elsewhere:
        sources = {where: f"{volume}/_data" for where, volume in sources.items()}
    systems = {top: tops[top].device if top in tops else "" for top in ("/proc", "/sys")}
    for mount in tops.values():
        if not _in_profile(mount, sources, systems, own_kernel=own_kernel):
            described = f"{mount.kind} {mount.root} at {mount.where} ({mount.flags[:60]})"
            problems.append(f"there is a mount of {described}")
    if own_kernel:
        return problems
    devices = report.get("devices")
    if not isinstance(devices, dict) or not devices:
        return [*problems, "the devices cannot be read"]
    unexpected = [name for name, number in devices.items() if _DEVICES.get(name) != number]
    return problems + [
        f"there is a device at /dev/{name}" for name in unexpected if name not in _OTHER_DEVICES
    ]


def _readonly(tops: dict[str, Mount], where: str) -> bool:
    return where in tops and tops[where].readonly


def _sized_within(options: set[str], most_bytes: int) -> bool:
    """Return whether a tmpfs has a size of at most `most_bytes`, rounded up to a page."""
    sizes = [match for option in options if (match := re.fullmatch(r"size=(\d+)(k?)", option))]
    largest = max((int(size[1]) << (10 if size[2] else 0) for size in sizes), default=None)
    return largest is not None and largest <= most_bytes + _LARGEST_PAGE


def _in_profile(mount: Mount, sources: dict[str, str], systems: dict[str, str], *, own_kernel: bool) -> bool:
    where = mount.where
    if where in sources:
        return own_kernel or _same_end(mount.root, sources[where])
    if where == "/" or (where == "/dev/shm" and own_kernel):  # noqa: S108
        return mount.root == "/" and mount.readonly
    if where in _OWN_FILE_SYSTEMS:
        return mount.kind in _OWN_FILE_SYSTEMS[where] and mount.root == "/"
    if where == "/sys":
        return mount.kind == "sysfs" and mount.root == "/" and mount.readonly
    if where == "/dev/mqueue":
        return mount.readonly and mount.kind in ("tmpfs", "mqueue") and mount.entries <= 0
    if where in _WRITTEN_BY_PODMAN:
        if own_kernel:
            return mount.readonly
        parts = PurePosixPath(mount.root).parts
        return "userdata" in parts[-3:-1] and parts[-1] == PurePosixPath(where).name
    folder, _, name = where.rpartition("/")
    if folder == "/dev":
        return name in _DEVICES and mount.entries == -1 and mount.root.rpartition("/")[2] == name
    if (
        where == "/sys/fs/cgroup" and mount.kind == "tmpfs"
    ):  # the container's own, below which cgroups are mounted
        return mount.root == "/"
    if where == "/sys/fs/cgroup" or folder == "/sys/fs/cgroup":
        return mount.readonly and mount.kind in _CGROUPS
    return _covers_kernel_files(mount, systems)


def _covers_kernel_files(mount: Mount, systems: dict[str, str]) -> bool:
    """Return whether a mount covers a part of /proc or /sys, or makes it read-only."""
    top = next((top for top in systems if mount.where.startswith(top + "/")), "")
    if not top:
        return False
    if mount.kind == "tmpfs":
        return mount.root == "/" and mount.readonly and mount.entries == 0
    if mount.entries == -1 and mount.root.rpartition("/")[2] == "null":
        return True
    return mount.device == systems[top] and mount.readonly and mount.root == mount.where.removeprefix(top)


def _same_end(root: str, source: str) -> bool:
    """Return whether a mount can be of this path; only the last parts of the path are visible in the container."""
    return PurePosixPath(root).parts[-2:] == PurePosixPath(source).parts[-2:]
