"""Engines on other machines: a second rootless account behind a real ssh server on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncssh
import msgspec
import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.mapping import described, engine_of, map_tool
from alita_tui.events import Capabilities
from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.fleet import Fleet
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.sandbox.remote import Remote
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import diagnose, prepare_account, repair
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.file_calls import read_and_leave
from tests.sandbox.loopback import Told, broker, serving
from tests.support.mcp_lab import ADD, furnished

LIMITS = Limits(wall_seconds=60)
SERVER = Path(__file__).parents[1] / "support" / "servers" / "ssh.py"


def nothing(*_: object) -> None:
    return


class Machine:
    """The server, the account behind it, and what a client needs to get in."""

    def __init__(self, folder: Path, settings: EngineSettings) -> None:
        self.folder = folder
        self._key = folder / "key"
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(self._key)
        self._key.chmod(0o600)
        asyncssh.read_private_key(self._key).write_public_key(folder / "authorized")
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._host_key.write_private_key(folder / "host")
        self.known = folder / "known"
        self.trust(self._host_key)
        self.host = Host(msgspec.structs.replace(settings, account="alita-elsewhere"))
        self.settings = msgspec.structs.replace(
            settings, engines=("local", "ssh://there"), ssh_config=str(folder / "config")
        )
        self._process: subprocess.Popen[str] | None = None

    def trust(self, key: asyncssh.SSHKey) -> None:
        self.known.write_text(f"there {key.export_public_key().decode()}")

    def distrust(self) -> None:
        self.trust(asyncssh.generate_private_key("ssh-ed25519"))

    def start(self) -> None:
        self.trust(self._host_key)
        if self._process is not None and self._process.poll() is None:
            return
        prefix = self.host.command() if self.host.as_root else []
        keys = (self.folder / "host", self.folder / "authorized")
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), *map(str, keys), *prefix],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        (self.folder / "config").write_text(
            f"Host there\nHostName 127.0.0.1\nPort {port}\nHostKeyAlias there\nIdentityFile {self._key}\n"
            f"IdentitiesOnly yes\nUserKnownHostsFile {self.known}\nGlobalKnownHostsFile none\n"
        )

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, settings: EngineSettings) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("there"), settings)
    machine.host.prepare() if not machine.host.as_root else None
    asyncio.run(repair(machine.settings, nothing))
    asyncio.run(prepare_account(machine.host, nothing))
    yield machine
    machine.stop()


@pytest.fixture
def there(made: Machine) -> Machine:
    made.start()
    return made


@pytest.fixture
async def engine(there: Machine) -> AsyncIterator[PodmanSandbox]:
    sandbox = PodmanSandbox(there.settings, "remote", engine="ssh://there")
    yield sandbox
    await sandbox.close()


@pytest.fixture
async def fleet(there: Machine) -> AsyncIterator[Fleet]:
    sandbox = Fleet(there.settings, "fleet")
    yield sandbox
    await sandbox.close()


def job(code: str, **more: object) -> Job:
    return Job(run_id="t", module="tool_under_test", code=code, limits=LIMITS, **more)  # type: ignore[arg-type]


async def containers(sandbox: PodmanSandbox) -> list[str]:
    filters = quote(json.dumps({"label": ["alita.service=" + sandbox._service.owner]}))
    found = await sandbox._service.request("GET", f"/containers/json?all=true&filters={filters}")
    return [one["Id"] for one in found or ()]


@pytest.mark.podman
async def test_a_tool_runs_on_another_machine_like_here(engine: PodmanSandbox) -> None:
    code = "def run(word: str) -> str:\n    print('there')\n    return word[::-1]\n"
    report = await engine.run(job(code, arguments={"word": "alita"}), nothing, nothing)
    assert (report.status, report.result, report.stdout) == ("ok", "atila", "there\n")
    status = await engine.status()
    assert status.available
    assert "ssh://there" in status.engine
    assert {row.resource for row in status.enforcement if row.strong} >= {"processes", "network", "files"}


async def bring_image(machine: Machine) -> None:
    """Copy the base image there: where no local engine is used, it is only pulled."""
    sandbox = PodmanSandbox(machine.settings, "remote", engine="ssh://there")
    await sandbox.prepare(nothing)
    await sandbox.close()


@pytest.mark.podman
@pytest.mark.slow
def test_a_map_runs_on_another_machine(there: Machine, tmp_path: Path) -> None:
    asyncio.run(bring_image(there))
    home = furnished(tmp_path / "home", ADD, settings=f'[sandbox]\nssh_config = "{there.folder}/config"\n')
    (tmp_path / "in.jsonl").write_text("".join(f'{{"a": {n}, "b": 1}}\n' for n in range(40)))
    app = AppContext.open(home)
    record, given = described(app, "add_numbers", tmp_path / "in.jsonl")
    where = engine_of(app, record, given, ("ssh://there",), 2, tmp_path / "out")
    done = asyncio.run(map_tool(app, record, given, tmp_path / "out", where, nothing))
    app.close()
    assert (done.ok, done.failed) == (40, 0)
    there.stop()  # so it was there
    where = engine_of(app, record, given, ("ssh://there",), 2, tmp_path / "out")
    with pytest.raises(SandboxUnavailable):
        asyncio.run(map_tool(app, record, given, tmp_path / "again", where, nothing))


@pytest.mark.podman
async def test_grants_of_a_remote_run_are_served_by_this_machine(there: Machine, tmp_path: Path) -> None:
    told = Told()
    (tmp_path / "note.txt").write_text("x" * 200_000)
    code = (
        "import json, os, urllib.request\n"
        "def run(url):\n"
        "    said = json.load(urllib.request.urlopen(url))['path']\n"
        "    return [said, len(urllib.request.urlopen(os.environ['ALITA_BROKER'] + '/files/note.txt').read())]\n"
    )
    with serving() as site:
        host = f"api.example:{site.port}"
        granting = broker(told, {"api.example": "127.0.0.1"}, (host,), workspace=tmp_path)
        sandbox = PodmanSandbox(there.settings, "remote", engine="ssh://there", broker=granting)
        try:
            granted = Capabilities(network=(host,), workspace="read")
            asked = job(code, digest="approved", capabilities=granted, arguments={"url": f"http://{host}/a"})
            report = await sandbox.run(asked, nothing, nothing)
            bare = await sandbox.run(msgspec.structs.replace(asked, digest=""), nothing, nothing)
        finally:
            await sandbox.close()
    assert report.result == ["/a", 200_000], report
    assert bare.status == "error", "without an approval nothing is granted there either"
    assert [one.outcome for one in told] == ["served", "served"]


@pytest.mark.podman
async def test_requirements_are_copied_and_nothing_of_this_machine_is_mounted(
    engine: PodmanSandbox,
) -> None:
    lock = await engine.lock(["email-validator>=2.2"], nothing)
    code = (
        "import email_validator\n"
        "def run() -> list:\n"
        "    open_here = []\n"
        "    for line in open('/proc/self/mountinfo'):\n"
        "        fields = line.split()\n"
        "        if fields[4] in ('/env', '/warden'):\n"
        "            open_here.append([fields[4], fields[3], fields[5].split(',')[0]])\n"
        "    return [email_validator.__version__, sorted(open_here)]\n"
    )
    report = await engine.run(job(code, lock=lock), nothing, nothing)
    assert report.status == "ok", report
    version, mounts = report.result
    assert version == next(p.version for p in lock.packages if p.name == "email-validator")
    assert [(where, how) for where, _, how in mounts] == [("/env", "ro"), ("/warden", "ro")]
    assert all("/volumes/alita-" in source for _, source, _ in mounts)


async def input_volumes(sandbox: PodmanSandbox) -> list[str]:
    found = await sandbox._service.request("GET", "/volumes/json") or []
    return [one["Name"] for one in found if one["Name"].startswith("alita-in-")]


@pytest.mark.podman
async def test_files_of_a_call_are_copied_there_and_back_and_removed(
    engine: PodmanSandbox, tmp_path: Path
) -> None:
    await read_and_leave(engine, tmp_path)
    assert await input_volumes(engine) == []
    left = {"Name": "alita-in-999999.1-aa", "Labels": {"alita.bytes": "1", "alita.owner": "999999.1"}}
    await engine._service.request("POST", "/volumes/create", left)
    await engine.reap()
    assert await input_volumes(engine) == [], "files of a killed process stayed there"


@pytest.mark.podman
async def test_volumes_that_could_be_written_are_refused(there: Machine, tmp_path: Path) -> None:
    def weaker(body: dict[str, Any]) -> dict[str, Any]:
        volumes = [
            {**one, "Options": ["nosuid", "nodev"]} if one["Dest"] == place else one
            for one in body["volumes"]
        ]
        return {**body, "volumes": volumes}

    (tmp_path / "installed.py").write_text("")
    sandbox = PodmanSandbox(there.settings, "remote", engine="ssh://there", harden=weaker)
    kind = Kind(environment=str(tmp_path))
    try:
        await sandbox.prepare(nothing)
        for place in ("/warden", "/env"):
            with pytest.raises(SandboxUnavailable, match=f"{place[1:]} is"):
                await sandbox._containers.make(kind)
        place = ""
        await sandbox._containers.end(await sandbox._containers.make(kind))
        await sandbox._containers.close()
        assert await containers(sandbox) == []
        await sandbox._service.request("DELETE", f"/volumes/alita-env-{tmp_path.name}")
    finally:
        await sandbox.close()


@pytest.mark.podman
async def test_a_failing_or_endless_tool_leaves_nothing_there(engine: PodmanSandbox) -> None:
    report = await engine.run(job("def run():\n    raise ValueError('no')\n"), nothing, nothing)
    assert report.status == "error"
    endless = asyncio.create_task(
        engine.run(
            job("import time\ndef run():\n    print('begun')\n    time.sleep(600)\n"),
            tell := Heard(),
            nothing,
        )
    )
    await tell.heard.wait()
    endless.cancel()
    with pytest.raises(asyncio.CancelledError):
        await endless
    await engine._containers.close()
    assert await containers(engine) == []


class Heard:
    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def __call__(self, *_: object) -> None:
        self.heard.set()


@pytest.mark.podman
async def test_runs_at_the_same_time_are_spread_and_all_have_one_image(fleet: Fleet) -> None:
    here, away = fleet.engines
    await here.prepare(nothing)
    await away.prepare(nothing)
    slow = "import time\ndef run():\n    print('begun')\n    time.sleep(600)\n"
    told = [Heard() for _ in range(2 * max(here.processors, 1))]
    runs = [asyncio.create_task(fleet.run(job(slow), tell, nothing)) for tell in told]
    for tell in told:
        await tell.heard.wait()
    assert len(await containers(here)) == len(await containers(away)) == len(runs) // 2
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)
    first, second = await here.status(), await away.status()
    assert first.image_digest == second.image_digest
    both = await fleet.status()
    assert first.engine in both.engine
    assert second.engine in both.engine


@pytest.mark.podman
async def test_an_unreachable_engine_is_skipped_and_a_lost_run_is_not_repeated(
    there: Machine, fleet: Fleet
) -> None:
    here, away = fleet.engines
    await here.prepare(nothing)
    await away.prepare(nothing)
    tell = Heard()
    lost = asyncio.create_task(
        away.run(job("import time\ndef run():\n    print('begun')\n    time.sleep(600)\n"), tell, nothing)
    )
    await tell.heard.wait()
    there.stop()
    with pytest.raises(EngineLost, match="nobody knows how far"):
        await lost
    for _ in range(2 * here.processors):
        report = await fleet.run(job("def run():\n    return 1\n"), nothing, nothing)
        assert report.result == 1
    with pytest.raises(SandboxUnavailable, match="ssh://there"):
        await away.run(job("def run():\n    return 1\n"), nothing, nothing)
    there.start()


@pytest.mark.podman
async def test_a_host_key_that_is_not_the_known_one_is_refused(there: Machine) -> None:
    there.distrust()
    settings = msgspec.structs.replace(there.settings, engines=("ssh://there",))
    (check,) = await diagnose(settings)
    assert check.state == "problem"
    assert "Host key verification failed" in check.detail
    assert "ssh there podman info" in check.hint


@pytest.mark.parametrize(
    "url",
    [
        "there", "http://there", "ssh://", "ssh://-oProxyCommand=touch%20x", "ssh://-v@there", "ssh://me@-F",
        "ssh://me:secret@there", "ssh://there:99999", "ssh://there/run/a b.sock", "ssh://there/x;y", "ssh://a b",
        "ssh://there?x=1", "",
    ],
)  # fmt: skip
def test_an_invalid_engine_address_is_refused(settings: EngineSettings, url: str) -> None:
    with pytest.raises(UsageError, match="is no engine"):
        Remote(settings, url)


def test_no_ssh_setting_of_a_person_weakens_the_connection(settings: EngineSettings) -> None:
    command = Remote(settings, "ssh://me@there:2222/run/podman.sock").command("podman", "info")
    assert command[-2:] == ["there", "podman info"]
    assert command[-3] == "--"
    for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", "ForwardAgent=no", "PermitLocalCommand=no"):
        assert option in command
    assert command[command.index("-l") + 1] == "me"
    assert command[command.index("-p") + 1] == "2222"


KILLED = """
import asyncio, sys
import msgspec
from alita_tui.sandbox.container import Kind
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job
async def main():
    settings = msgspec.json.decode(sys.argv[1], type=EngineSettings)
    sandbox = PodmanSandbox(settings, "killed", engine="ssh://there")
    code = "import time\\ndef run():\\n    print('on', flush=True)\\n    time.sleep(600)\\n"
    tell = lambda *_: print(sandbox._service.owner, flush=True)
    await sandbox.run(Job(run_id="k", module="k_k", code=code), tell, lambda *_: None)
asyncio.run(main())
"""


@pytest.mark.podman
async def test_nothing_there_outlives_a_killed_alita(there: Machine, engine: PodmanSandbox) -> None:
    await engine.prepare(nothing)
    settings = msgspec.json.encode(there.settings).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, settings, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    owner = (await process.stdout.readline()).decode().strip()
    filters = quote(json.dumps({"label": ["alita.service=" + owner]}))
    listing = f"/containers/json?all=true&filters={filters}"
    assert await engine._service.request("GET", listing)
    process.kill()
    await process.wait()
    async with asyncio.timeout(180):
        while await engine._service.request("GET", listing):
            await asyncio.sleep(0.02)
