"""Files in and out of real containers: read-only in, regular files out, and nothing else."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.events import LeftFile, RunReport
from alita_tui.sandbox.call_files import LeftFiles
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import InputFile, Job, Limits

LIMITS = Limits(wall_seconds=60, scratch_bytes=8 << 20, file_bytes=4 << 20)


def nothing(*_: object) -> None:
    return


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(settings, "files")
    yield made
    await made.close()


async def run(
    sandbox: PodmanSandbox, code: str, out: Path | None = None, *given: Path, **more: Any
) -> RunReport:
    job = Job(
        run_id="t",
        module="tool_t",
        code=code,
        limits=LIMITS,
        inputs=tuple(InputFile(path=str(path), name=path.name) for path in given),
        outputs=str(out or ""),
        **more,
    )
    return await sandbox.run(job, nothing, nothing)


@pytest.mark.podman
async def test_a_file_is_read_where_the_job_says(sandbox: PodmanSandbox, tmp_path: Path) -> None:
    private = tmp_path / "sales.csv"
    private.write_text("a,b\n1,2\n")
    private.chmod(0o600)
    shared = tmp_path / "größe zwei.bin"
    shared.write_bytes(bytes(range(256)))
    shared.chmod(0o444)
    code = (
        "def run():\n"
        "    return [open('/in/0/sales.csv').read(), sum(open('/in/1/größe zwei.bin', 'rb').read())]\n"
    )
    report = await run(sandbox, code, None, private, shared)
    assert (report.error, report.result) == ("", ["a,b\n1,2\n", 32640])


@pytest.mark.podman
async def test_mounted_files_cannot_be_changed(sandbox: PodmanSandbox, tmp_path: Path) -> None:
    given = tmp_path / "given.txt"
    given.write_text("as it was")
    given.chmod(0o444)
    code = """
import os
def run():
    done = []
    for attempt in (
        lambda: open("/in/0/given.txt", "w"), lambda: os.chmod("/in/0/given.txt", 0o666),
        lambda: os.unlink("/in/0/given.txt"), lambda: open("/in/0/new", "w"), lambda: os.mkdir("/in/x"),
        lambda: os.link("/in/0/given.txt", "/tmp/out/link"),
    ):
        try:
            attempt()
            done.append("done")
        except OSError as error:
            done.append(error.errno)
    return done
"""
    report = await run(sandbox, code, None, given)
    assert report.status == "ok" and "done" not in report.result
    assert given.read_text() == "as it was" and given.stat().st_mode & 0o777 == 0o444


@pytest.mark.podman
async def test_other_users_of_the_machine_cannot_enter_the_folder(
    sandbox: PodmanSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "given.txt"
    given.write_text("private")
    assert (await run(sandbox, "def run(): return 1", None, given)).result == 1
    parent = sandbox._host.area / "in"
    assert parent.stat().st_mode & 0o007 == 0
    assert list(parent.iterdir()) == []  # removed with the call


@pytest.mark.podman
async def test_files_left_by_a_tool_are_returned(sandbox: PodmanSandbox, tmp_path: Path) -> None:
    code = """
import os, pathlib
def run():
    pathlib.Path("chart.png").write_bytes(b"\\x89PNG" + bytes(100_000))
    os.mkdir("deep"); os.chmod("deep", 0o700)
    pathlib.Path("deep/näme.txt").write_text("ja")
    os.chmod("deep/näme.txt", 0o600)
    pathlib.Path("empty").touch()
    return os.getcwd()
"""
    report = await run(sandbox, code, tmp_path)
    assert (report.error, report.files_lost) == ("", "")
    assert report.files == (
        LeftFile(name="chart.png", size=100_004),
        LeftFile(name="deep/näme.txt", size=2),
        LeftFile(name="empty", size=0),
    )
    assert [(tmp_path / str(n)).read_bytes() for n in range(3)] == [b"\x89PNG" + bytes(100_000), b"ja", b""]


@pytest.mark.podman
@pytest.mark.parametrize(
    ("doing", "names"),
    [
        ("os.symlink('/etc/passwd', 'passwd'); os.symlink('/', 'root')", []),
        ("os.mkfifo('pipe'); open('x', 'w').write('1')", ["x"]),
        ("import socket; socket.socket(socket.AF_UNIX).bind('s')", []),
        ("os.rename('/tmp/out', '/tmp/other'); os.symlink('/etc', '/tmp/out')", []),
        ("os.chmod('.', 0o700); open('x', 'w').write('1')", []),
        ("os.rmdir('/tmp/out')", []),
        ("[open(f'f{n}', 'w').close() for n in range(100)]", None),
        ("open('big', 'wb').truncate(4 << 20); open('big2', 'wb').truncate(4 << 20); open('big3', 'wb').truncate(4 << 20)", None),
        ("open('n' * 250, 'w').close()", None),
        ("open('../up', 'w').write('1')", []),
        ("os.fork() or [open(f'race{n}', 'w').write('x') for n in range(10**6)]", None),
    ],
)  # fmt: skip
async def test_irregular_files_are_not_returned(
    sandbox: PodmanSandbox, tmp_path: Path, doing: str, names: list[str] | None
) -> None:
    report = await run(sandbox, f"import os\ndef run():\n    {doing}\n    return 1\n", tmp_path)
    assert report.status == "ok"
    if names is None:
        assert len(report.files) <= 64 and sum(file.size for file in report.files) <= LIMITS.scratch_bytes
    else:
        assert [file.name for file in report.files] == names
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == sorted(str(n) for n in range(len(report.files)))
    assert not any(b"root:" in (tmp_path / name).read_bytes() for name in written)


@pytest.mark.podman
async def test_calls_of_a_session_do_not_see_each_others_files(
    settings: EngineSettings, tmp_path: Path
) -> None:
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, session_calls=True), "files in sessions")
    code = "import os\ndef run(n):\n    before = os.listdir('.')\n    open(f'f{n}', 'w').write(str(n))\n    return before\n"
    try:
        for number in range(5):
            out = tmp_path / str(number)
            out.mkdir()
            report = await run(sandbox, code, out, digest="approved", arguments={"n": number})
            assert (report.result, [file.name for file in report.files]) == ([], [f"f{number}"])
            assert (out / "0").read_text() == str(number)
    finally:
        await sandbox.close()


_HOLD = """
import asyncio, sys
from pathlib import Path
import msgspec
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import InputFile, Job
async def main():
    sandbox = PodmanSandbox(msgspec.json.decode(sys.argv[1], type=EngineSettings), "held")
    code = "import time\\ndef run():\\n    print('on', flush=True)\\n    time.sleep(60)\\n"
    job = Job(run_id="h", module="tool_h", code=code, inputs=(InputFile(path=sys.argv[2], name="a"),))
    await sandbox.run(job, lambda *_: print("on", flush=True), lambda *_: None)
asyncio.run(main())
"""


@pytest.mark.podman
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
async def test_files_of_a_killed_process_are_removed(
    settings: EngineSettings, sandbox: PodmanSandbox, tmp_path: Path, end: signal.Signals
) -> None:
    """Killed, they go at the next start; interrupted, at once."""
    given = tmp_path / "private.txt"
    given.write_text("mine")
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, msgspec.json.encode(settings).decode(), str(given)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "on\n"
    parent = Host(settings).area / "in"
    (folder,) = [one for one in parent.iterdir() if one.name.startswith(f"{process.pid}.")]
    assert (folder / "0" / "a").read_text() == "mine"
    process.send_signal(end)
    process.communicate(timeout=30)
    assert folder.exists() == (end == signal.SIGKILL)
    await sandbox.reap()
    assert not folder.exists()


@pytest.mark.podman
async def test_a_failed_run_leaves_no_files(sandbox: PodmanSandbox, tmp_path: Path) -> None:
    code = "def run():\n    open('half', 'w').write('x')\n    raise ValueError('no')\n"
    report = await run(sandbox, code, tmp_path)
    assert (report.status, report.files, list(tmp_path.iterdir())) == ("error", (), [])


# --- what the host makes of the frames, whoever writes them ---------------------------------------


def framed(name: str, data: bytes, size: int | None = None) -> bytes:
    raw = json.dumps({"name": name, "size": len(data) if size is None else size}).encode()
    return struct.pack(">I", len(raw)) + raw + data


@pytest.mark.parametrize("cut", [1, 3, 7, 4096])
def test_pieces_of_any_length_give_the_same_files(tmp_path: Path, cut: int) -> None:
    stream = framed("a", b"x" * 1000) + framed("b/c", b"") + framed("d", b"yz")
    left = LeftFiles(str(tmp_path), 1 << 20)
    for at in range(0, len(stream), cut):
        left.take(stream[at : at + cut])
    left.end()
    assert [(file.name, file.size) for file in left.files] == [("a", 1000), ("b/c", 0), ("d", 2)]
    assert [(tmp_path / str(n)).read_bytes() for n in range(3)] == [b"x" * 1000, b"", b"yz"]


@pytest.mark.parametrize(
    "stream",
    [
        b"\xff\xff\xff\xff",
        struct.pack(">I", 3) + b"[1]",
        framed("a", b"", size=-5),
        framed("a", b"", size=1 << 40),
        framed("", b"x"),
        framed("n" * 500, b"x"),
        struct.pack(">I", 24) + b'{"name": 5, "size": "a"}',
        struct.pack(">I", 40) + b'{"name": "a", "size": 1, "path": "/etc"}',
        framed("../../etc/passwd", b"x") * 70,
        os.urandom(5000),
    ],
)
def test_hostile_frames_stay_in_the_folder(tmp_path: Path, stream: bytes) -> None:
    out = tmp_path / "out"
    out.mkdir()
    left = LeftFiles(str(out), 1 << 20)
    left.take(stream)
    left.end()
    assert left.lost or not left.files or len(left.files) <= 64
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert {path.name for path in out.iterdir()} <= {str(n) for n in range(65)}


def test_an_incomplete_file_is_dropped(tmp_path: Path) -> None:
    left = LeftFiles(str(tmp_path), 1 << 20)
    left.take(framed("a", b"12") + framed("b", b"half", size=100))
    left.end()
    assert [file.name for file in left.files] == ["a"] and "whole" in left.lost


def test_a_file_that_exceeds_the_disk_is_dropped(tmp_path: Path) -> None:
    """The limit on file size fails a write in its middle, as a full disk does."""
    left = LeftFiles(str(tmp_path), 1 << 20)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        left.take(framed("a", b"12") + framed("b", b"x" * 150))
        left.end()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert [file.name for file in left.files] == ["a"] and "could not be taken over" in left.lost
