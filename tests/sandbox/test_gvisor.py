"""The profile `gvisor`: what is asked for, what is refused, and the same attacks on a kernel of its own."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui.cli.main import cli
from alita_tui.sandbox import gvisor
from alita_tui.sandbox.attestation import deviations
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.policy import OOM_SCORE, ContainerSpec, create_body
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import diagnose, repair
from alita_tui.sandbox.supplies import Files
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.aftermath import Aftermath, besieged, judge, unharmed
from tests.sandbox.file_calls import read_and_leave
from tests.sandbox.hostile import BOMBS, FILES, KERNEL, NET, WARDEN, Attack, body
from tests.sandbox.limits_seen import seen as seen_by_linux
from tests.sandbox.weaker import WEAKER, let_through, nothing, run

LIMITS = Limits(memory_bytes=100 << 20, scratch_bytes=8 << 20, processes=20)
PLACE = ContainerSpec(image="i", warden="/w", seccomp="/s", uid=20_007, profile="gvisor")
HELD = sum(1 << bit for bit in (5, 6, 7))
MADE: dict[str, Any] = {
    "HostConfig": {
        "NetworkMode": "none", "SecurityOpt": ["no-new-privileges"], "OomScoreAdj": 900,
    }
}  # fmt: skip


# --- what is asked for and compared -----------------------------------------------------------


def seen(**changed: Any) -> dict[str, Any]:
    """What a well confined warden reports of gVisor."""
    mounted = [
        ["/", "9p", "/", "0:8", "ro,ro", 9], ["/tmp", "tmpfs", "/", "0:9", "rw,noexec,rw,size=8388608", 0], ["/sys", "sysfs", "/", "0:10", "ro,ro", 9],
        ["/dev", "tmpfs", "/", "0:6", "rw,rw", 9], ["/proc", "proc", "/", "0:11", "rw,rw", 9], ["/dev/pts", "devpts", "/", "0:12", "rw,rw", 1],
        ["/dev/shm", "tmpfs", "/", "0:13", "ro,ro", 0], ["/etc/group", "9p", "/", "0:14", "ro,ro", -1], ["/warden.pyz", "9p", "/", "0:15", "ro,ro", -1],
    ]  # fmt: skip
    own = {
        "mounted": mounted,
        "devices": {"net": [0, 0]},
        "kernel": "gvisor",
        "capabilities": [HELD] * 4 + [-1],
        "oom_score": 0,
    }
    return {**seen_by_linux({}), **own, **changed}


def remounted(where: str, options: str) -> dict[str, Any]:
    """The same mounts, one with other options."""
    return {"mounted": [[*m[:4], options if m[0] == where else m[4], m[5]] for m in seen()["mounted"]]}


def test_the_body_is_the_draft_profiles_for_another_runtime() -> None:
    draft = create_body(msgspec.structs.replace(PLACE, profile="draft"), LIMITS)
    asked = create_body(PLACE, LIMITS)
    assert asked.pop("oci_runtime") == "runsc"
    (sealed,) = [mount for mount in asked["mounts"] if mount not in draft["mounts"]]
    assert sealed["destination"] == "/dev/shm" and "ro" in sealed["options"]
    assert {**asked, "mounts": draft["mounts"]} == draft


def test_the_service_is_started_for_it_and_for_nothing_else(settings_of: EngineSettings) -> None:
    assert Host(settings_of).flags[:2] == ("--runtime", "runsc")
    assert {"network=none", "oci-seccomp"} <= set(Host(settings_of).flags)
    assert Host(msgspec.structs.replace(settings_of, profile="draft")).flags == ()


def test_the_gvisor_seccomp_profile_allows_no_more_than_the_usual_one() -> None:
    def allowed(profile: bytes) -> dict[str, Any]:
        rules = json.loads(profile)["syscalls"]
        return {name: rule.get("args") for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}  # fmt: skip

    ours, runscs = json.loads(Files().seccomp), json.loads(Files("gvisor").seccomp)
    assert ours["defaultAction"] == runscs["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {rule["action"] for rule in runscs["syscalls"]} == {"SCMP_ACT_ALLOW"}
    more = allowed(Files("gvisor").seccomp).keys() - allowed(Files().seccomp).keys()
    assert more == {"clone3", "pselect"}, "which gVisor does not have, and which it calls so"


def test_gvisor_is_checked_against_its_profile() -> None:
    assert deviations(seen(), PLACE, LIMITS) == []
    assert deviations(seen_by_linux({}), msgspec.structs.replace(PLACE, profile="draft"), LIMITS) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"kernel": "Linux"}, {"seccomp": 0}, {"no_new_privs": 0}, {"capabilities": [HELD | 1] * 4 + [-1]},
        {"capabilities": [HELD] * 5}, {"capabilities": []}, {"uid": [0] * 4}, {"gid": [0] * 4}, {"pid": 2},
        {"interfaces": ["eth0", "lo"]}, {"routes": 1}, {"open_files": [20_000, 20_000]}, {"core": [-1, -1]},
        {"namespaces": "allowed"}, {"shared_memory": True}, {"environment": ["TOKEN"]},
        remounted("/", "rw"), remounted("/tmp", "rw,size=8m"), remounted("/tmp", "rw,noexec,size=99999999"),
        {"mounted": [*seen()["mounted"], ["/host", "9p", "/", "0:16", "ro,ro", 9]]}, {"let_through": [272]},
        {"mounted": [*seen()["mounted"], ["/devhost", "9p", "/", "0:16", "ro,ro", 9]]},
    ],
    ids=str,
)  # fmt: skip
def test_a_weaker_gvisor_is_refused(changed: dict[str, Any]) -> None:
    assert deviations(seen(**changed), PLACE, LIMITS)


def test_the_two_profiles_are_not_interchangeable() -> None:
    draft = msgspec.structs.replace(PLACE, profile="draft")
    assert deviations({**seen_by_linux({}), "kernel": "gvisor"}, draft, LIMITS) == ["kernel is gvisor"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("NetworkMode", "host"), ("SecurityOpt", []), ("OomScoreAdj", 0)],
)
def test_settings_that_gvisor_hides_are_read_from_podman(name: str, value: object) -> None:
    assert gvisor.outside(MADE, OOM_SCORE) == []
    assert len(gvisor.outside({"HostConfig": {**MADE["HostConfig"], name: value}}, OOM_SCORE)) == 1
    assert len(gvisor.outside({"HostConfig": {}}, OOM_SCORE)) == 3


# --- without runsc ----------------------------------------------------------------------------


@pytest.fixture
def settings_of(settings: EngineSettings) -> EngineSettings:
    return msgspec.structs.replace(settings, profile="gvisor")


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gvisor, "RUNTIME", "runsc-that-is-nowhere")


@pytest.mark.podman
@pytest.mark.usefixtures("gone")
async def test_without_runsc_nothing_runs_and_nothing_weaker_takes_its_place(
    settings_of: EngineSettings,
) -> None:
    sandbox = PodmanSandbox(settings_of, "without-runsc")
    try:
        status = await sandbox.status()
        assert not status.available and "no other profile is used instead" in status.problem
        assert "apt-get install runsc" in status.hint and "sandbox.profile draft" in status.hint
        with pytest.raises(SandboxUnavailable, match="runsc"):
            await run(sandbox, "def run(): return 1\n")
        assert sandbox._service._supervisor is None, "Podman was not even started"
    finally:
        await sandbox.close()


@pytest.mark.podman
@pytest.mark.usefixtures("gone", "settings")
def test_the_command_line_also_refuses_to_run_without_gvisor(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("print('ran')\n")
    asked = ["--home", str(tmp_path), "sandbox", "run", str(tmp_path / "one.py"), "--profile", "gvisor"]
    done = CliRunner().invoke(cli, asked)
    assert isinstance(done.exception, SandboxUnavailable) and "ran" not in done.output
    assert SandboxUnavailable.exit_code == 6


@pytest.mark.podman
@pytest.mark.usefixtures("gone")
@pytest.mark.parametrize("profile", ["draft", "gvisor"])
async def test_the_doctor_says_how_to_get_it(settings: EngineSettings, profile: str) -> None:
    without_image = f"localhost/alita-none-{profile}:1"  # so that it stops before the live probes
    checks = await diagnose(msgspec.structs.replace(settings, profile=profile, tag=without_image))
    (line,) = [check for check in checks if check.name == "gvisor"]
    assert "apt-get install runsc" in line.detail + line.hint
    assert (line.state, line.fixable) == (("problem", True) if profile == "gvisor" else ("ok", False))


# --- with runsc -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_kernel(settings: EngineSettings) -> EngineSettings:
    """Settings of the profile; `doctor --fix` has installed what it needs."""
    found = msgspec.structs.replace(settings, profile="gvisor")
    try:
        asyncio.run(repair(found, lambda *_: None))
    except SandboxUnavailable as error:
        pytest.skip(f"runsc cannot be installed here: {error}")
    return found


@pytest.mark.podman
async def test_a_tool_runs_on_the_kernel_of_gvisor(own_kernel: EngineSettings) -> None:
    sandbox = PodmanSandbox(msgspec.structs.replace(own_kernel, pool_hot=1, pool_warm=1), "gvisor")
    try:
        await sandbox.warm_up(LIMITS, nothing)
        code = (
            "import csv, threading, subprocess\n"
            "def run(word):\n"
            "    found = []\n"
            "    worker = threading.Thread(target=lambda: found.append(word[::-1]))\n"
            "    worker.start(); worker.join()\n"
            "    kernel = open('/proc/version').read()\n"
            "    return [found, kernel, subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout]\n"
        )
        job = Job(run_id="g", module="gvisor_tool", code=code, arguments={"word": "alita"}, limits=LIMITS)
        for _ in range(3):
            report = await sandbox.run(job, nothing, nothing)
            found, kernel, said = report.result
            assert (found, said) == (["atila"], "child\n")
            assert kernel != Path("/proc/version").read_text()
        tests = "from gvisor_tool import run\ndef test_one():\n    assert run('ab')[0] == ['ba']\n"
        tested = await sandbox.run(msgspec.structs.replace(job, kind="test", tests=tests), nothing, nothing)
        assert [case.passed for case in tested.cases] == [True]
        assert "runsc (gVisor)" in (await sandbox.status()).engine
    finally:
        await sandbox.close()


@pytest.mark.podman
async def test_files_of_a_call_are_passed_under_gvisor(own_kernel: EngineSettings, tmp_path: Path) -> None:
    sandbox = PodmanSandbox(own_kernel, "gvisor")
    try:
        await read_and_leave(sandbox, tmp_path)
    finally:
        await sandbox.close()


@pytest.mark.walk
@pytest.mark.podman
async def test_every_limit_is_measured_under_gvisor(own_kernel: EngineSettings) -> None:
    sandbox = PodmanSandbox(own_kernel, "gvisor")
    try:
        rows = {row.resource: row for row in (await sandbox.status(fresh=True)).enforcement}
    finally:
        await sandbox.close()
    weak = {name for name, row in rows.items() if not row.strong}
    assert weak <= {"memory", "kernel memory", "cpu share", "disk bandwidth"}, rows
    assert "gVisor" in rows["kernel"].mechanism and "gVisor" in rows["system calls"].mechanism
    assert "10 of 10" in rows["system calls"].measured and "cgroup" not in rows["memory"].mechanism


WITHOUT_A_HOLD = {"mask", "ipcns", "sysctl"}
"""Weaker bodies that make nothing weaker here: gVisor has no message queues to hide, its /dev/shm is sealed,
and where it remembers closed connections a session container ends."""

WITHOUT_A_START = {"privileged", "pidns", "seccomp_profile_path"}
"""Weaker bodies that gVisor does not start, or in which the warden cannot even report."""


@pytest.mark.walk
@pytest.mark.podman
def test_every_weaker_container_is_refused_under_gvisor(own_kernel: EngineSettings) -> None:
    held = [name for name in WEAKER if name not in WITHOUT_A_HOLD]
    wanted = {name: WEAKER[name] for name in held[::3]}  # runc is tried with all of them
    found = asyncio.run(let_through(own_kernel, wanted))
    assert [one for one in found if one.partition(":")[0] not in WITHOUT_A_START] == []


@pytest.mark.podman
@pytest.mark.parametrize("missing", ["oci-seccomp", "network=none", "runsc"])
async def test_a_service_started_with_other_options_is_refused(
    own_kernel: EngineSettings, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    flags = gvisor.FLAGS
    kept = [pair for pair in zip(flags[::2], flags[1::2], strict=True) if pair[1] != missing]
    monkeypatch.setattr(
        gvisor, "FLAGS", () if missing == "runsc" else tuple(part for pair in kept for part in pair)
    )
    sandbox = PodmanSandbox(own_kernel, "other-flags")
    if missing == "runsc":
        sandbox._containers._harden = lambda asked: {
            key: value for key, value in asked.items() if key != "oci_runtime"
        }
    try:
        with pytest.raises(SandboxUnavailable):
            await run(sandbox, "def run(): return 1\n")
    finally:
        await sandbox.close()


CHANGED: dict[str, tuple[str, tuple[str, ...], object]] = {
    # Each process of a bomb costs gVisor more memory than Linux.
    "fork bomb": ("limit", ("processes", "memory"), None),
    "fork bomb of daemons": ("limit", ("processes", "memory"), None),
    "fork bomb on import": ("limit", ("processes", "memory"), None),
    # It says no in another word.
    "file in /dev/shm": ("error", ("PermissionError", "OSError"), None),
    "file in /dev/mqueue": ("error", ("FileNotFoundError",), None),
    "kill of PID 1": ("error", ("PermissionError",), None),
    "stop of PID 1": ("error", ("PermissionError",), None),
    "real-time scheduling": ("error", ("OSError", "PermissionError"), None),
    # It counts no inodes: the clock and the memory limit end these.
    "inode bomb": ("timeout", ("wall",), None),
    # What the warden shows of itself is public; its memory and its channel are not shown.
    "/proc/1/environ": ("ok", ("",), None),
    "/proc/1/maps": ("ok", ("",), None),
    "/proc/1/fd": ("ok", ("",), None),
    # These change gVisor's own books and nothing of the host's.
    "higher priority": ("ok", ("",), None),
    "spared by the OOM killer": ("ok", ("",), None),
    # It shows no NoNewPrivs line; that the user stays the same is shown by the rest.
    "set-uid program": ("ok", ("",), [False, True, True]),
    # It does not keep a library from being mapped from a file system without programs.
    "library in /tmp": ("ok", ("",), None),
}
"""How attacks end on gVisor that end otherwise on Linux."""
LEFT_OUT = {
    "fork bomb",
    "fork bomb on import",
    "directory bomb",
    "symbolic link bomb",
    "processor",
    "processor, signal ignored",
    "timer storm",
}
"""They take long and show nothing that others do not."""
OWN = (
    Attack("channel of PID 1, read", body("attack()\nreturn os.read(os.open('/proc/1/fd/0', os.O_RDONLY), 1)"),
           "error", ("PermissionError",)),
    Attack("buffers of gVisor's kernel", body(
        "attack()\nsocket.setdefaulttimeout(0)\nheld = []\n"
        "while True:\n"
        "    one, two = socket.socketpair()\n"
        "    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)\n"
        "    try:\n        while True: one.send(bytes(1 << 16))\n"
        "    except OSError: held.append((one, two))"), "limit", ("memory",)),
)  # fmt: skip


def there(case: Attack) -> Attack:
    status, reason, result = CHANGED.get(case.name, (case.status, case.reason, case.result))
    return replace(case, status=status, reason=reason, result=result)


EVERY = 4
"""A container costs more here: of what is simply refused one in so many, and all that ends otherwise."""
MANY = [case for case in (*BOMBS, *WARDEN, *KERNEL, *FILES, *NET) if case.status == "error"]
ATTACKS = tuple(
    there(case)
    for case in (*BOMBS, *WARDEN, *KERNEL, *FILES, *NET, *OWN)
    if case.name not in LEFT_OUT
    and (case not in MANY or case.name in CHANGED or MANY.index(case) % EVERY == 0)
)


@pytest.fixture(scope="module")
def aftermath(own_kernel: EngineSettings, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    return besieged(own_kernel, tmp_path_factory.mktemp("host"), ATTACKS)


@pytest.mark.walk
@pytest.mark.podman
@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case.name)
def test_an_attack_is_contained_under_gvisor(aftermath: Aftermath, case: Attack) -> None:
    judge(aftermath, case)


@pytest.mark.walk
@pytest.mark.podman
def test_under_gvisor_an_attack_leaves_nothing(aftermath: Aftermath) -> None:
    unharmed(aftermath)
