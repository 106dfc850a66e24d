"""Programs that live in a container: pipes, windows, limits, grants for one call at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from alita_tui.events import Capabilities
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.programs import RunningProgram
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.trees import tree_of
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.sandbox import Limits, Program
from tests.sandbox.loopback import Told, broker, serving
from tests.sandbox.weaker import nothing

pytestmark = pytest.mark.podman
FETCH = """
import sys, urllib.request
for line in sys.stdin:
    try: said = urllib.request.urlopen(line.strip(), timeout=5).status
    except OSError as error: said = str(error)
    print(said, flush=True)
"""


def python(code: str, *, limits: Limits | None = None, capabilities: Capabilities | None = None) -> Program:
    return Program(
        argv=("python3", "-u", "-c", code),
        limits=limits or Limits(cpu_seconds=3600),
        capabilities=capabilities or Capabilities(),
    )


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(settings, "programs")
    yield made
    await made.close()


async def rest(program: RunningProgram) -> bytes:
    """What it still prints, until it ends."""
    read = b""
    async with asyncio.timeout(180):
        while piece := await program.read():
            read += piece
    return read


async def line(program: RunningProgram) -> bytes:
    read = b""
    async with asyncio.timeout(180):
        while not read.endswith(b"\n"):
            piece = await program.read()
            assert piece, (read, program.ended, bytes(program.stderr_tail))
            read += piece
    return read


async def test_a_program_runs_confined_and_its_end_is_reported(sandbox: PodmanSandbox) -> None:
    code = (
        "import os, sys\n"
        "def refused(work):\n"
        "    try: work()\n"
        "    except OSError: return True\n"
        "print(os.getpid() != 1, sorted(map(int, os.listdir('/proc/self/fd')))[:3], os.environ['HOME'],\n"
        "      refused(lambda: open('/etc/x', 'w')), refused(lambda: os.kill(1, 9)), refused(lambda: os.setuid(0)))\n"
        "print('complaint', file=sys.stderr)\n"
        "for line in sys.stdin: print(line.strip()[::-1])\n"
        "sys.exit(3)\n"
    )
    program = await sandbox.open_program(python(code), nothing)
    try:
        assert await line(program) == b"True [0, 1, 2] /tmp/home True True True\n"
        await program.write(b"abc\n")
        assert await line(program) == b"cba\n"
        await program.finish_input()
        assert await rest(program) == b""
        async with asyncio.timeout(180):
            while not program.ended:
                await asyncio.sleep(0.01)
        assert program.ended == "it ended with exit code 3"
        assert b"complaint" in program.stderr_tail
        with pytest.raises(ConnectionError):
            await program.write(b"more\n")
    finally:
        await program.close()


async def test_neither_side_gets_further_ahead_than_the_window(sandbox: PodmanSandbox) -> None:
    """It prints 8 MB at once, and later reads nothing: both stop at the pipe, and nothing is lost."""
    code = (
        "import sys\n"
        "sys.stdout.write('x' * (8 << 20)); sys.stdout.flush()\n"
        "total = 0\n"
        "while piece := sys.stdin.buffer.read(1 << 16): total += len(piece)\n"
        "print(total)\n"
    )
    program = await sandbox.open_program(python(code), nothing)
    try:
        await asyncio.sleep(0.3)
        seen = 0
        async with asyncio.timeout(180):
            while seen < 8 << 20:
                seen += len(await program.read())
        await program.write(b"y" * (3 << 20))
        await program.finish_input()
        assert await rest(program) == b"%d\n" % (3 << 20)
    finally:
        await program.close()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("held = []\nwhile True: held.append(b'x' * (1 << 20))", "exit code 1"),
        ("import os\nfor _ in range(4):\n    if not os.fork(): break\nheld = b'x' * (60 << 20)\nimport time; time.sleep(60)",
         "its limit of memory"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "its limit of processes"),
    ],
    ids=["rlimit", "together", "killed", "forks"],
)  # fmt: skip
async def test_a_program_that_exceeds_a_limit_is_ended(sandbox: PodmanSandbox, code: str, why: str) -> None:
    limits = Limits(memory_bytes=96 << 20, processes=24, cpu_seconds=3600)
    program = await sandbox.open_program(python(code, limits=limits), nothing)
    try:
        await rest(program)
        async with asyncio.timeout(180):
            while not program.ended:
                await asyncio.sleep(0.01)
        assert why in program.ended
    finally:
        await program.close()


async def test_a_program_has_its_hosts_only_while_a_call_runs(settings: EngineSettings) -> None:
    told = Told()
    with serving() as site:
        where = broker(told, {"site.test": "127.0.0.1"}, (f"site.test:{site.port}",))
        sandbox = PodmanSandbox(settings, "programs", broker=where)
        asked = Capabilities(network=(f"site.test:{site.port}",))
        program = await sandbox.open_program(python(FETCH, capabilities=asked), nothing)
        url = f"http://site.test:{site.port}/\n".encode()
        try:
            await program.write(url)
            assert b"403" in await line(program)
            program.begin("call-1")
            await program.write(url)
            assert await line(program) == b"200\n"
            await program.finish()
            await program.write(url)
            assert b"403" in await line(program)
        finally:
            await program.close()
            await sandbox.close()
    assert [(one.call_id, one.outcome) for one in told] == [("call-1", "served")]


ASK = """
import os, sys, urllib.request
key = os.environ["API_KEY"]
print(key, flush=True)
for line in sys.stdin:
    asked = urllib.request.Request(line.strip(), headers={"Authorization": "Bearer " + key})
    try: said = urllib.request.urlopen(asked, timeout=5).headers["X-Repeated"]
    except OSError as error: said = str(error)
    print(said, flush=True)
"""


async def test_a_secret_is_inserted_into_requests_and_never_given_to_the_program(
    settings: EngineSettings,
) -> None:
    told = Told()
    with serving("site.test") as site:
        where = broker(
            told, {"site.test": "127.0.0.1"}, (f"site.test:{site.port}",), secret={"API_KEY": "s3cr3t-value"}.get
        )  # fmt: skip
        sandbox = PodmanSandbox(settings, "programs", broker=where)
        asked = Capabilities(network=(f"site.test:{site.port}",), secrets=(f"API_KEY@site.test:{site.port}",))
        program = await sandbox.open_program(python(ASK, capabilities=asked), nothing)
        url = f"https://site.test:{site.port}/k\n".encode()
        try:
            assert b"s3cr3t" not in await line(program)
            await program.write(url)
            assert b"403" in await line(program) and not site.seen
            program.begin("call-1")
            await program.write(url)
            assert await line(program) == b"Bearer ************\n", "what the host repeats is masked"
            await program.finish()
        finally:
            await program.close()
            await sandbox.close()
    assert [one["headers"]["authorization"] for one in site.seen] == ["Bearer s3cr3t-value"]
    assert [(one.call_id, one.outcome, one.secrets) for one in told] == [("call-1", "served", ("API_KEY",))]


async def test_changed_program_files_do_not_run(sandbox: PodmanSandbox, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "words.py").write_text("WORD = 'whole'\n")
    (tmp_path / "main.py").write_text(
        "import sys; sys.path.insert(0, '/env/app/lib')\nimport words\nprint(words.WORD)\n"
    )
    tree = tree_of(tmp_path)
    program = await sandbox.open_program(Program(argv=("python3", "/env/app/main.py"), tree=tree), nothing)
    assert await rest(program) == b"whole\n"
    await program.close()
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="is a link"):
        tree_of(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "main.py").write_text("print('other')\n")
    assert tree_of(tmp_path) != tree
    (tmp_path / "lib" / "words.py").write_text("WORD = 'new'\n")
    changed = Program(argv=("python3",), tree=type(tree)(path=tree.path, digest="0" * 64))
    with pytest.raises(UsageError, match="no longer those that were approved"):
        await sandbox.open_program(changed, nothing)
    assert json.dumps(tree.digest)
