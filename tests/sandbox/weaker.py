"""Containers that are weaker than the profile in one respect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from alita_tui.events import RunReport
from alita_tui.sandbox.containers import Harden
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits

QUICK = Limits(wall_seconds=20, cpu_seconds=5, memory_bytes=128 << 20, processes=24)


def nothing(*_: object) -> None:
    return


async def run(sandbox: PodmanSandbox, body: str, limits: Limits = QUICK, **arguments: Any) -> RunReport:
    code = "import os, sys, time, json\n" + body
    job = Job(run_id="t", module="tool_under_test", code=code, arguments=arguments, limits=limits)
    return await sandbox.run(job, nothing, nothing)


async def containers(sandbox: PodmanSandbox, label: str) -> list[Any]:
    filters = quote(json.dumps({"label": [label]}))
    return await sandbox._service.request("GET", f"/containers/json?all=true&filters={filters}") or []


def without(name: str) -> Harden:
    return lambda body: {key: value for key, value in body.items() if key != name}


def loose_tmp(body: dict[str, Any]) -> dict[str, Any]:
    mounts = [{**one, "options": ["mode=1777"]} if one["type"] == "tmpfs" else one for one in body["mounts"]]
    return {**body, "mounts": mounts}


def large_tmp(body: dict[str, Any]) -> dict[str, Any]:
    options = ["size=4g", "mode=1777", "nosuid", "nodev", "noexec"]
    mounts = [{**one, "options": options} if one["type"] == "tmpfs" else one for one in body["mounts"]]
    return {**body, "mounts": mounts}


def writable(destination: str) -> Harden:
    """The mount at a place without its `ro`."""

    def weaker(body: dict[str, Any]) -> dict[str, Any]:
        mounts = [
            {**one, "options": [option for option in one["options"] if option != "ro"]}
            if one["destination"] == destination
            else one
            for one in body["mounts"]
        ]
        return {**body, "mounts": mounts}

    return weaker


def bound(destination: str) -> Harden:
    """A folder of the host's at a place."""
    extra = {"type": "bind", "source": "/etc", "destination": destination, "options": ["rbind", "ro"]}
    return lambda body: {**body, "mounts": [*body["mounts"], extra]}


def open_for(name: str) -> Harden:
    """The profile with one more system call, or all of one that is allowed in part."""

    def weaker(body: dict[str, Any]) -> dict[str, Any]:
        path = Path(body["seccomp_profile_path"])
        profile = json.loads(path.read_text())
        rules = [rule for rule in profile["syscalls"] if rule["names"] != [name]]
        opened = {**profile, "syscalls": [*rules, {"names": [name], "action": "SCMP_ACT_ALLOW"}]}
        weak = path.with_name(f"weaker-{name}.json")
        weak.write_text(json.dumps(opened))
        weak.chmod(0o644)
        return {**body, "seccomp_profile_path": str(weak)}

    return weaker


WEAKER: dict[str, Harden] = {
    **{
        f"mount at {where}": bound(where)
        for where in ("/devhost", "/sysroot", "/process", "/dev/host", "/sys/firmware", "/tmp/x")
    },
    **{
        f"filter without {name}": open_for(name)
        for name in (
            "memfd_create",
            "io_setup",
            "inotify_init1",
            "setsid",
            "io_uring_setup",
            "keyctl",
            "socket",
            "clone",
            "ioctl",
            "prlimit64",
        )
    },
    "read_only_filesystem": without("read_only_filesystem"),
    "cap_drop": without("cap_drop"),
    "cap_add": lambda body: {**body, "cap_add": [*body["cap_add"], "CAP_SYS_ADMIN"]},
    "privileged": lambda body: {**body, "privileged": True},
    "no_new_privileges": without("no_new_privileges"),
    "user": without("user"),
    "netns": lambda body: {**body, "netns": {"nsmode": "host"}, "sysctl": {}},
    "ipcns": without("ipcns"),
    "pidns": lambda body: {**body, "pidns": {"nsmode": "host"}},
    "seccomp_profile_path": without("seccomp_profile_path"),
    "seccomp off": lambda body: {**body, "seccomp_profile_path": "unconfined"},
    "r_limits": without("r_limits"),
    "mounts": loose_tmp,
    "size of /tmp": large_tmp,
    "warden": writable("/warden.pyz"),
    "mask": without("mask"),
    "oom_score_adj": without("oom_score_adj"),
    "sysctl": without("sysctl"),
    "log_configuration": without("log_configuration"),
    "mount": lambda body: {
        **body,
        "mounts": [
            *body["mounts"],
            {"type": "bind", "source": "/etc", "destination": "/host", "options": ["rbind"]},
        ],
    },
    "env": lambda body: {**body, "env": {**body["env"], "TOKEN": "x"}},
}


async def let_through(settings: EngineSettings, wanted: Mapping[str, Harden]) -> list[str]:
    """Which weaker containers ran something, or were refused for another reason, and what is left of them."""
    sandbox = PodmanSandbox(settings, "weaker")
    body = "def run(): return 1\n"
    found = []
    try:
        assert (await run(sandbox, body)).result == 1, "as it should be, it runs"
        for name, weaker in wanted.items():
            sandbox._containers._harden = weaker
            try:
                found.append(f"{name} ran: {await run(sandbox, body)}")
            except SandboxUnavailable as error:
                if "not confined as the profile says" not in error.message:
                    found.append(f"{name}: {error.message}")
        await sandbox._containers.close()
        return found + [one["Id"] for one in await containers(sandbox, "alita.session=weaker")]
    finally:
        for path in sandbox._host.area.glob("weaker-*.json"):
            path.unlink()
        await sandbox.close()
