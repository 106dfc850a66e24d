"""What a container says of its limits."""

from __future__ import annotations

from typing import Any

MOUNTED = [
    ["/", "overlay", "/", "0:50", "ro,relatime,rw", 9], ["/tmp", "tmpfs", "/", "0:51", "rw,nosuid,nodev,noexec,rw,size=8192k", 0],
    ["/warden.pyz", "ext4", "/w", "8:1", "ro,nosuid,nodev,rw", -1], ["/proc", "proc", "/", "0:52", "rw,nosuid,rw", 9],
    ["/dev", "tmpfs", "/", "0:53", "rw,nosuid,rw", 9], ["/sys", "sysfs", "/", "0:54", "ro,nosuid,ro", 9],
    ["/dev/pts", "devpts", "/", "0:55", "rw,rw", 1], ["/dev/null", "devtmpfs", "/null", "0:6", "rw,rw", -1],
    ["/dev/mqueue", "mqueue", "/", "0:56", "rw,rw", 0], ["/dev/mqueue", "tmpfs", "/", "0:57", "ro,ro", 0],
    ["/proc/bus", "proc", "/bus", "0:52", "ro,rw", 3], ["/proc/acpi", "tmpfs", "/", "0:58", "ro,ro", 0],
    ["/proc/keys", "devtmpfs", "/null", "0:6", "rw,rw", -1], ["/sys/firmware", "tmpfs", "/", "0:59", "ro,ro", 0],
    ["/sys/fs/cgroup", "tmpfs", "/", "0:60", "rw,rw", 9], ["/sys/fs/cgroup/cpu", "cgroup", "/a/b", "0:30", "ro,rw", 9],
    ["/etc/hostname", "ext4", "/run/containers/1/userdata/hostname", "8:1", "ro,rw", -1],
]  # fmt: skip


DEVICES = {"null": [1, 3], "tty": [5, 0], "ptmx": [0, 0], "pts": [0, 0], "mqueue": [0, 0]}


def seen(cgroup: dict[str, str]) -> dict[str, Any]:
    """What a well confined warden reports."""
    return {
        "kernel": "Linux", "no_new_privs": 1, "seccomp": 2, "capabilities": [0xE0] * 5, "uid": [20_007] * 4, "gid": [20_007] * 4, "pid": 1,
        "interfaces": ["lo"], "routes": 0, "open_files": [256, 256], "core": [0, 0], "namespaces": "refused", "let_through": [],
        "shared_memory": False, "closed_connections": 0, "oom_score": 900, "environment": ["PATH"], "cgroup": cgroup,
        "mounted": MOUNTED, "devices": DEVICES,
    }  # fmt: skip
