"""The profile `gvisor`: a separate kernel in user space answers the system calls of each container.

It requires all that the profile `draft` requires, and applies our seccomp profile inside. What gVisor does not show, or
shows differently, is handled here. Runtime: https://gvisor.dev/docs/
"""

from __future__ import annotations

import json
import shutil
from typing import Any

from alita_tui.spine.errors import SandboxUnavailable

RUNTIME = "runsc"
PACKAGE = "runsc"
"""The Debian package it comes in."""
FLAGS = (
    "--runtime", RUNTIME,
    "--runtime-flag", "ignore-cgroups",  # an account without root has none to give
    "--runtime-flag", "network=none",  # loopback only, in its own network stack
    "--runtime-flag", "oci-seccomp",
)  # fmt: skip
"""Options of Podman's service."""
NO_AMBIENT = -1
"""gVisor has no ambient capabilities, so the warden reads no number for them."""


def require(path: str) -> None:
    """Raise SandboxUnavailable when runsc is in none of these folders; no weaker profile takes its place."""
    if shutil.which(RUNTIME, path=path) is None:
        raise SandboxUnavailable(
            f"The profile gvisor needs {RUNTIME}, which is not installed; no other profile is used instead.",
            hint=f"`alita doctor --fix` or `apt-get install {PACKAGE}` installs it; "
            "`alita config set sandbox.profile draft` does without.",
        )


_OTHER_NAMES = ("pselect",)
"""runsc's names of system calls that libseccomp names differently; it ignores unknown names."""


def filtered(profile: bytes) -> bytes:
    """Return our seccomp profile in the form for runsc.

    runsc answers every refusal with EPERM, and the C library falls back from `clone3` only on ENOSYS. So `clone3` is
    left to gVisor, which does not have it. A newer gVisor may; its namespaces are then its own alone.
    """
    shipped = json.loads(profile)
    allowed = [rule for rule in shipped["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"]
    remaining = [name for rule in shipped["syscalls"] if rule not in allowed for name in rule["names"]]
    passed_on = {"names": [*_OTHER_NAMES, *remaining], "action": "SCMP_ACT_ALLOW"}
    return json.dumps({**shipped, "syscalls": [*allowed, passed_on]}).encode()


def outside(inspected: dict[str, Any], oom_score: int) -> list[str]:
    """Return how settings that are invisible inside gVisor differ from the profile, by Podman's description."""
    host = inspected["HostConfig"]
    checks = {
        "network": host.get("NetworkMode") == "none",
        "new privileges": "no-new-privileges" in (host.get("SecurityOpt") or ()),
        "OOM score": int(host.get("OomScoreAdj") or 0) >= oom_score,
    }
    return [f"Podman made it with another {name}" for name, matches in checks.items() if not matches]


def adapted_body(body: dict[str, Any]) -> dict[str, Any]:
    """Return the draft profile's create body, adapted to this profile."""
    shared_memory = {
        "type": "tmpfs",
        "source": "tmpfs",
        "destination": "/dev/shm",  # noqa: S108  # gVisor always makes one, which nothing would limit
        "options": ["ro", "size=4096", "mode=0555", "nosuid", "nodev", "noexec"],
    }
    return {**body, "oci_runtime": RUNTIME, "mounts": [*body["mounts"], shared_memory]}
