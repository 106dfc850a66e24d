"""What holds each limit: tried out for real, and cgroup v2 as its documentation says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.limits import PROBES, known, measure
from alita_tui.sandbox.policy import Place, SandboxSettings, deviations, spec
from alita_tui.spine.ports import Job, Limits
from alita_tui.spine.values import RunReport

LIMITS = Limits(memory_bytes=100 << 20, scratch_bytes=8 << 20, processes=20)
PLACE = Place(
    image="i", warden="/w", seccomp="/s", uid=20_007, controllers=frozenset({"memory", "pids", "cpu"})
)
CGROUP = {
    "memory.max": str(172 << 20),
    "memory.swap.max": "0",
    "pids.max": "28",
    "cpu.max": "100000 100000",
}


@pytest.mark.podman
async def test_every_limit_is_tried(settings: SandboxSettings) -> None:
    sandbox = PodmanSandbox(settings, "limits")
    try:
        found = {row.resource: row for row in (await sandbox.status(fresh=True)).enforcement}
    finally:
        await sandbox.close()
    assert {probe.resource for probe in PROBES} <= set(found)
    assert all(found[probe.resource].measured for probe in PROBES)
    weak = {name for name, row in found.items() if not row.strong}
    assert weak <= {"memory", "cpu share", "disk bandwidth"}
    assert "10 of 10" in found["system calls"].measured


async def test_a_limit_that_does_not_hold_is_weak() -> None:
    async def run(job: Job) -> RunReport:
        return RunReport(status="ok", result={"count": 4000, "writable": ["/", "/tmp"]})

    rows = await measure(run, {"memory", "pids", "cpu"})
    assert [row.resource for row in rows if row.strong] == ["cpu share"]


async def test_what_was_measured_is_kept_for_the_same_machine(tmp_path: Path) -> None:
    runs: list[str] = []

    async def run(job: Job) -> RunReport:
        runs.append(job.run_id)
        return RunReport(status="limit", limits_hit=("memory",), peak_memory_bytes=99 << 20)

    first = await known(tmp_path, ("one",), run, {"memory"}, fresh=False)
    count = len(runs)
    assert await known(tmp_path, ("one",), run, {"memory"}, fresh=False) == first
    assert len(runs) == count
    await known(tmp_path, ("one",), run, {"memory"}, fresh=True)
    await known(tmp_path, ("two",), run, {"memory"}, fresh=False)
    assert len(runs) == 3 * count
    (memory,) = (row for row in first if row.resource == "memory")
    assert memory.strong and memory.mechanism.startswith("cgroup v2 memory.max")


def test_the_body_asks_for_what_is_delegated() -> None:
    assert spec(PLACE, LIMITS)["resource_limits"] == {
        "memory": {"limit": 172 << 20, "swap": 172 << 20},
        "pids": {"limit": 28},
        "cpu": {"quota": 100_000, "period": 100_000},
    }
    some = msgspec.structs.replace(PLACE, controllers=frozenset({"pids"}))
    assert set(spec(some, LIMITS)["resource_limits"]) == {"pids"}
    assert "resource_limits" not in spec(msgspec.structs.replace(PLACE, controllers=frozenset()), LIMITS)


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, True),
        ({"memory.max": "max"}, False),
        ({"memory.swap.max": "max"}, False),
        ({"pids.max": "max"}, False),
        ({"cpu.max": "max 100000"}, False),
    ],
)
def test_a_container_without_its_cgroup_limits_is_refused(changed: dict[str, str], holds: bool) -> None:
    wrong = deviations(seen({**CGROUP, **changed}), PLACE, LIMITS)
    assert any(one.startswith("cgroup") for one in wrong) is not holds
    assert not deviations(seen({}), msgspec.structs.replace(PLACE, controllers=frozenset()), LIMITS)


def seen(cgroup: dict[str, str]) -> dict[str, Any]:
    """What a well confined warden reports."""
    return {
        "kernel": "Linux", "no_new_privs": 1, "seccomp": 2, "capabilities": [0xE0] * 5, "uid": [20_007] * 4, "gid": [20_007] * 4, "pid": 1,
        "interfaces": ["lo"], "routes": 0, "open_files": [256, 256], "core": [0, 0], "namespaces": "refused",
        "shared_memory": False, "oom_score": 900, "environment": ["PATH"], "cgroup": cgroup,
        "mounts": {"/": "ro", "/tmp": "rw,nosuid,nodev,noexec,size=8192k", "/warden.pyz": "ro"},
    }  # fmt: skip
