"""The profile `gvisor`: a tool's system calls are answered by a kernel of its own, in user space.

Everything of the profile `draft` is asked for as well; our seccomp profile is applied inside. What gVisor
does not show, or shows in its own way, is said here. Runtime: https://gvisor.dev/docs/
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
"""What Podman's service is started with."""
NO_AMBIENT = -1
"""gVisor has no ambient capabilities, so the warden does not see a number for them."""


def there(path: str) -> bool:
    """True when runsc is in one of these folders."""
    return shutil.which(RUNTIME, path=path) is not None


def require(path: str) -> None:
    """Raises SandboxUnavailable when runsc is in none of these folders: no weaker profile takes its place."""
    if not there(path):
        raise SandboxUnavailable(
            f"The profile gvisor needs {RUNTIME}, which is not installed; no other profile is used instead.",
            hint=f"`alita doctor --fix` or `apt-get install {PACKAGE}` installs it; "
            "`alita config set sandbox.profile draft` does without.",
        )


_OTHER_NAMES = ("pselect",)
"""What runsc calls system calls that libseccomp has another name for; it passes over names it does not know."""


def filtered(profile: bytes) -> bytes:
    """Our seccomp profile as runsc reads it.

    runsc answers every refusal with EPERM, and from `clone3` the C library falls back only at ENOSYS: it is left
    to gVisor, which does not have it. A newer one may, and makes a namespace then that is its own alone.
    """
    read = json.loads(profile)
    allowed = [rule for rule in read["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"]
    left = [name for rule in read["syscalls"] if rule not in allowed for name in rule["names"]]
    more = {"names": [*_OTHER_NAMES, *left], "action": "SCMP_ACT_ALLOW"}
    return json.dumps({**read, "syscalls": [*allowed, more]}).encode()


def outside(made: dict[str, Any], oom_score: int) -> list[str]:
    """What gVisor does not show inside, as Podman describes the container; what is wrong with it."""
    host = made["HostConfig"]
    wanted = {
        "network": host.get("NetworkMode") == "none",
        "new privileges": "no-new-privileges" in (host.get("SecurityOpt") or ()),
        "OOM score": int(host.get("OomScoreAdj") or 0) >= oom_score,
    }
    return [f"Podman made it with another {name}" for name, good in wanted.items() if not good]


def asked(body: dict[str, Any]) -> dict[str, Any]:
    """The create body of the draft profile as this one needs it."""
    sealed = {
        "type": "tmpfs",
        "source": "tmpfs",
        "destination": "/dev/shm",  # noqa: S108  # gVisor always makes one, which nothing would limit
        "options": ["ro", "size=4096", "mode=0555", "nosuid", "nodev", "noexec"],
    }
    return {**body, "oci_runtime": RUNTIME, "mounts": [*body["mounts"], sealed]}
