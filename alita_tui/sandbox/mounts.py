"""Whether the mounts that a warden sees are the ones it was given, and nothing besides. Pure.

Each is named by its place, its kind of file system, what of that is mounted, its options and how many entries it shows.
proc(5), `mountinfo`; https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import msgspec

_DEVICES = {
    "null": [1, 3],
    "zero": [1, 5],
    "full": [1, 7],
    "random": [1, 8],
    "urandom": [1, 9],
    "tty": [5, 0],
}
_OTHER_DEVICES = {"console", "core", "fd", "mqueue", "ptmx", "pts", "shm", "stderr", "stdin", "stdout"}
_OWN = {"/proc": ("proc",), "/dev": ("tmpfs",), "/dev/pts": ("devpts",), "/tmp": ("tmpfs",)}  # noqa: S108
"""Kinds of file systems that the runtime makes for the container, whole."""
_CGROUPS = ("cgroup", "cgroup2")
_WRITTEN_BY_PODMAN = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/passwd", "/etc/group", "/run/.containerenv",
    "/run/secrets",
)  # fmt: skip


class Mount(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """One line of what the warden says."""

    where: str
    kind: str
    root: str
    """What of the file system is mounted."""
    device: str
    options: str
    entries: int
    """How much is in it; -1 for a file."""

    @property
    def readonly(self) -> bool:
        """Whether nothing can be written there."""
        return "ro" in self.options.split(",")


def strange(seen: Any, devices: Any, given: dict[str, str], *, own_kernel: bool) -> list[str]:
    """What is mounted besides what has to be, or otherwise. `given`: places of ours, and what is mounted there.

    Sizes and options of these are for others to compare.
    """
    try:
        mounts = msgspec.convert(seen, list[Mount])
    except msgspec.ValidationError as why:
        return [f"the mounts cannot be read: {why}"]
    counts = Counter(one.where for one in mounts)
    twice = [where for where, count in counts.items() if count > 1 and where != "/dev/mqueue"]
    found = [f"there is more than one mount at {where}" for where in twice]
    tops = {one.where: one for one in mounts}  # what is mounted later covers what was there before
    proc, sys = (tops[where].device if where in tops else "" for where in ("/proc", "/sys"))
    for one in tops.values():
        if not _known(one, given, {"/proc": proc, "/sys": sys}, own_kernel=own_kernel):
            found.append(f"there is a mount of {one.kind} {one.root} at {one.where} ({one.options[:60]})")
    if own_kernel:
        return found
    if not isinstance(devices, dict) or not devices:
        return [*found, "the devices cannot be read"]
    for name, number in devices.items():
        if name not in _OTHER_DEVICES and _DEVICES.get(name) != number:
            found.append(f"there is a device at /dev/{name}")
    return found


def _known(one: Mount, given: dict[str, str], systems: dict[str, str], *, own_kernel: bool) -> bool:
    where = one.where
    if where in given:
        return own_kernel or _same_end(one.root, given[where])
    if where == "/" or (where == "/dev/shm" and own_kernel):  # noqa: S108
        return one.root == "/" and one.readonly
    if where in _OWN:
        return one.kind in _OWN[where] and one.root == "/"
    if where == "/sys":
        return one.kind == "sysfs" and one.root == "/" and one.readonly
    if where == "/dev/mqueue":
        return one.readonly and one.kind in ("tmpfs", "mqueue") and one.entries <= 0
    if where in _WRITTEN_BY_PODMAN:
        if own_kernel:
            return one.readonly
        parts = PurePosixPath(one.root).parts
        return "userdata" in parts[-3:-1] and parts[-1] == PurePosixPath(where).name
    folder, _, name = where.rpartition("/")
    if folder == "/dev":
        return name in _DEVICES and one.entries == -1 and one.root.rpartition("/")[2] == name
    if where == "/sys/fs/cgroup" and one.kind == "tmpfs":  # of the container's own, where cgroups are mounted
        return one.root == "/"
    if where == "/sys/fs/cgroup" or folder == "/sys/fs/cgroup":
        return one.readonly and one.kind in _CGROUPS
    return _hidden(one, systems)


def _hidden(one: Mount, systems: dict[str, str]) -> bool:
    """True for what covers a part of /proc or /sys, or makes it read-only."""
    top = next((top for top in systems if one.where.startswith(top + "/")), "")
    if not top:
        return False
    if one.kind == "tmpfs":
        return one.root == "/" and one.readonly and one.entries == 0
    if one.entries == -1 and one.root.rpartition("/")[2] == "null":
        return True
    return one.device == systems[top] and one.readonly and one.root == one.where.removeprefix(top)


def _same_end(root: str, source: str) -> bool:
    """True where what is mounted can be this path: a mount shows it from the file system's root only."""
    return PurePosixPath(root).parts[-2:] == PurePosixPath(source).parts[-2:]
