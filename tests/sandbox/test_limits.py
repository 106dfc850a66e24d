"""What holds each limit: tried out for real, and cgroup v2 as its documentation says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox import syscalls
from alita_tui.sandbox.attestation import deviations
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.limits import PROBES, measure, recorded
from alita_tui.sandbox.policy import ContainerSpec, create_body
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.supplies import Files
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.limits_seen import DEVICES, MOUNTED, seen

LIMITS = Limits(memory_bytes=100 << 20, scratch_bytes=8 << 20, processes=20)
PLACE = ContainerSpec(
    image="i", warden="/w", seccomp="/s", uid=20_007, controllers=frozenset({"memory", "pids", "cpu"})
)
CGROUP = {
    "memory.max": str(172 << 20),
    "memory.swap.max": "0",
    "pids.max": "28",
    "cpu.max": "100000 100000",
}


@pytest.mark.podman
async def test_every_limit_is_measured(settings: EngineSettings) -> None:
    sandbox = PodmanSandbox(settings, "limits")
    try:
        found = {row.resource: row for row in (await sandbox.status(fresh=True)).enforcement}
    finally:
        await sandbox.close()
    assert {probe.resource for probe in PROBES} <= set(found)
    assert all(found[probe.resource].measured for probe in PROBES)
    weak = {name for name, row in found.items() if not row.strong}
    assert weak <= {"memory", "kernel memory", "cpu share", "disk bandwidth"}
    assert "10 of 10" in found["system calls"].measured
    assert "12 of 12" in found["others' shares"].measured
    assert found["kernel memory"].measured.startswith("ended at")


async def test_a_limit_that_does_not_hold_is_reported_as_weak() -> None:
    async def run(job: Job) -> RunReport:
        return RunReport(status="ok", result={"count": 4000, "writable": ["/", "/tmp"]})

    rows = await measure(run, {"memory", "pids", "cpu"})
    assert [row.resource for row in rows if row.strong] == ["cpu share"]


async def test_measurements_are_stored_for_the_same_machine(tmp_path: Path) -> None:
    runs: list[str] = []

    async def run(job: Job) -> RunReport:
        runs.append(job.run_id)
        return RunReport(status="limit", limits_hit=("memory",), peak_memory_bytes=99 << 20)

    first = await recorded(tmp_path, ("one",), run, {"memory"}, fresh=False)
    count = len(runs)
    assert await recorded(tmp_path, ("one",), run, {"memory"}, fresh=False) == first
    assert len(runs) == count
    await recorded(tmp_path, ("one",), run, {"memory"}, fresh=True)
    await recorded(tmp_path, ("two",), run, {"memory"}, fresh=False)
    assert len(runs) == 3 * count
    (memory,) = (row for row in first if row.resource == "memory")
    assert memory.strong and memory.mechanism.startswith("cgroup v2 memory.max")


@pytest.mark.parametrize("folder", ["missing", "a file"])
async def test_measurements_are_reported_even_if_they_cannot_be_stored(tmp_path: Path, folder: str) -> None:
    """Nor can an unfinished file be removed there, as on a read-only disk."""
    (tmp_path / "a file").touch()

    async def run(job: Job) -> RunReport:
        return RunReport(status="limit", limits_hit=("memory",))

    rows = await recorded(tmp_path / folder, ("one",), run, {"memory"}, fresh=False)
    assert "memory" in [row.resource for row in rows]


def test_the_create_body_requests_delegated_controllers() -> None:
    assert create_body(PLACE, LIMITS)["resource_limits"] == {
        "memory": {"limit": 172 << 20, "swap": 172 << 20},
        "pids": {"limit": 28},
        "cpu": {"quota": 100_000, "period": 100_000},
    }
    some = msgspec.structs.replace(PLACE, controllers=frozenset({"pids"}))
    assert set(create_body(some, LIMITS)["resource_limits"]) == {"pids"}
    assert "resource_limits" not in create_body(
        msgspec.structs.replace(PLACE, controllers=frozenset()), LIMITS
    )


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


STRANGE = [
    ["/devhost", "ext4", "/etc", "8:1", "ro,rw", 9], ["/sysroot", "ext4", "/", "8:1", "ro,rw", 9], ["/process", "proc", "/", "0:20", "ro,rw", 9],
    ["/dev/host", "ext4", "/etc", "8:1", "ro,rw", 9], ["/proc/acpi", "ext4", "/etc", "8:1", "ro,rw", 9], ["/proc/acpi", "tmpfs", "/", "0:21", "ro,rw", 4],
    ["/proc/acpi", "tmpfs", "/user/1000", "0:21", "ro,rw", 0], ["/proc/bus", "proc", "/", "0:52", "ro,rw", 9], ["/proc/bus", "proc", "/bus", "0:20", "ro,rw", 9],
    ["/proc/sys", "proc", "/sys", "0:52", "rw,rw", 9], ["/sys/firmware", "sysfs", "/", "0:54", "ro,rw", 9], ["/sys/fs/cgroup", "cgroup2", "/", "0:22", "rw,rw", 9],
    ["/sys/fs/cgroup/cpu", "ext4", "/", "8:1", "ro,rw", 9], ["/dev/kmsg", "devtmpfs", "/kmsg", "0:6", "rw,rw", -1], ["/dev/null", "ext4", "/etc/shadow", "8:1", "rw,rw", -1],
    ["/etc/hosts", "ext4", "/etc/shadow", "8:1", "ro,rw", -1], ["/etc/shadow", "ext4", "/run/1/userdata/shadow", "8:1", "ro,rw", -1],
    ["/warden.pyz", "ext4", "/other/place", "8:1", "ro,rw", -1], ["/env", "ext4", "/environments/1", "8:1", "ro,rw", 9], ["/tmp", "tmpfs", "/", "0:9", "rw,size=8192k", 0],
    ["/tmp/x", "ext4", "/", "8:1", "rw,rw", 9], ["/sys", "sysfs", "/", "0:5", "rw,rw", 9], ["/dev/mqueue", "mqueue", "/", "0:9", "rw,rw", 0], "what", ["/x"], None,
]  # fmt: skip


@pytest.mark.parametrize("line", STRANGE, ids=str)
def test_an_unrequested_mount_is_refused(line: object) -> None:
    place = msgspec.structs.replace(PLACE, controllers=frozenset())
    assert not deviations(seen({}), place, LIMITS)
    assert deviations({**seen({}), "mounted": [*MOUNTED, line]}, place, LIMITS)


def test_devices_and_a_filter_that_is_open_are_refused() -> None:
    place = msgspec.structs.replace(PLACE, controllers=frozenset())
    wrong: dict[str, Any]
    for wrong in (
        {"devices": {**DEVICES, "kvm": [10, 232]}}, {"devices": {**DEVICES, "null": [1, 1]}}, {"devices": {}}, {"mounted": []}, {"mounted": 3},
        {"let_through": [321]}, {"let_through": [-1, 4]}, {"let_through": None}, {"closed_connections": 131_072},
    ):  # fmt: skip
        assert deviations({**seen({}), **wrong}, place, LIMITS)


def test_the_numbers_of_refused_calls_are_those_of_the_profile() -> None:
    allowed = json.loads((Path(syscalls.__file__).parent / "syscalls.json").read_text())
    rules = json.loads(Files().seccomp)["syscalls"]
    assert set(allowed) == {name for rule in rules for name in rule["names"]}
    for architecture, word in enumerate(syscalls.refused().split(":")):
        bits = {n for n in range(4 * len(word)) if int(word[n // 4], 16) >> n % 4 & 1}
        assert not bits & {row[architecture] for row in allowed.values()}
        assert {425, 426, 427, 437 + 11} <= bits, "io_uring, and what is young"
    assert {321, 272, 165, 101, 319, 206, 112, 253, 294} <= {
        n for n in range(480) if int(syscalls.refused().split(":")[0][n // 4], 16) >> n % 4 & 1
    }
