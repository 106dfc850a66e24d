"""Labels of the machine and process that made a container or a folder, to tell whether that still runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path


def machine() -> str:
    """Return a label of this machine; several machines may use one engine."""
    try:
        name = Path("/etc/machine-id").read_text().strip()
    except OSError:
        name = ""
    return sha256((name or os.uname().nodename).encode()).hexdigest()[:12]


def me() -> str:
    """Return a label of this process: its pid and start time."""
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def alive(owner: str) -> bool:
    """Return whether the process with this label still runs."""
    pid, start_time, *_ = (*owner.split("."), "", "")
    return pid.isdigit() and bool(start_time) and _start_time(int(pid)) == start_time


def orphaned(labels: Mapping[str, str]) -> bool:
    """Return whether the alita on this machine that made a container with these labels is gone."""
    own_machine = labels.get("alita.machine", machine()) == machine()
    return own_machine and not alive(labels.get("alita.owner", ""))


def _start_time(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
