"""Workspace files and model calls of a tool: by name and by count, and never past either."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alita_tui.events import Capabilities
from alita_tui.sandbox.broker.files import Workspace
from alita_tui.sandbox.broker.grants import Caps, Refused
from alita_tui.sandbox.broker.quota import Quota
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.ports.models import ModelRequest, Reply
from tests.sandbox.broker_bench import LIMITS, Bench
from tests.sandbox.grants_lab import FILES, Models

READ, WRITE = Capabilities(workspace="read"), Capabilities(workspace="write")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "workspace"
    (inside / "data").mkdir(parents=True)
    (inside / "a.txt").write_text("hello")
    (inside / "data" / "ü b.csv").write_text("x,y\n1,2\n")
    (inside / ".hidden").write_text("hidden")
    (tmp_path / "outside.txt").write_text("outside")
    (inside / "link.txt").symlink_to(tmp_path / "outside.txt")
    (inside / "up").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe")
    return inside


@pytest.fixture
async def bench(settings: EngineSettings) -> AsyncIterator[Bench]:
    made = Bench(settings)
    yield made
    if made.sandbox is not None:
        await made.sandbox.close()


BAD = [
    "../outside.txt",
    "data/../../outside.txt",
    "/etc/passwd",
    "up/outside.txt",
    "link.txt",
    ".hidden",
    "",
    "a//b",
    "./a.txt",
    "data",
    "pipe",
    "a\0b",
    "x" * 200,
    "a\\b",
    "/".join("abcdefghij"),
    "a\nb",
    "a.txt/b",
]


@pytest.mark.parametrize("name", BAD)
def test_no_name_leads_out_or_to_anything_but_a_file(folder: Path, name: str) -> None:
    files = Workspace(folder, Caps())
    before = sorted(os.listdir(folder))
    for work in (lambda: files.read(name), lambda: files.write(name, b"x")):
        with pytest.raises(Refused):
            work()
    assert (folder.parent / "outside.txt").read_text() == "outside" and sorted(os.listdir(folder)) == before


def test_files_are_listed_read_and_written(folder: Path) -> None:
    files = Workspace(folder, Caps(file_bytes=10))
    assert files.names() == ["a.txt", "data/ü b.csv"]
    assert files.read("data/ü b.csv") == b"x,y\n1,2\n"
    assert (
        files.write("new/deep/file.txt", b"made") and (folder / "new/deep/file.txt").read_bytes() == b"made"
    )
    assert not files.write("a.txt", b"again") and (folder / "a.txt").read_bytes() == b"again"
    with pytest.raises(Refused, match="MB"):
        files.write("a.txt", b"x" * 11)
    (folder / "large").write_bytes(b"x" * 11)
    with pytest.raises(Refused, match="MB"):
        files.read("large")
    assert [one for one in os.listdir(folder) if one.startswith(".alita")] == []


def test_a_write_never_goes_through_a_link_to_the_same_bytes(folder: Path) -> None:
    os.link(folder.parent / "outside.txt", folder / "hard.txt")
    Workspace(folder, Caps()).write("hard.txt", b"mine")
    assert (folder.parent / "outside.txt").read_text() == "outside"


def test_names_are_listed_up_to_a_count(folder: Path) -> None:
    for number in range(30):
        (folder / f"{number}.txt").touch()
    assert len(Workspace(folder, Caps(listed=20)).names()) == 20


def test_a_workspace_has_a_size_limit(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    files = Workspace(folder, Caps(workspace_bytes=100, workspace_entries=4))
    assert files.write("a", b"x" * 60) and files.write("b/c", b"x" * 30)
    for name, size in (("d", 11), ("b/c", 41), ("new/file", 11)):
        with pytest.raises(Refused, match="the workspace may hold"):
            files.write(name, b"x" * size)
    assert not files.write("a", b"x" * 70), "what replaces a file takes what that has left"
    assert files.write("d", b"")
    with pytest.raises(Refused, match="4 files and folders"):
        files.write("e", b"")
    with pytest.raises(Refused, match="4 files and folders"):
        files.write("new/e", b"")
    assert not files.write("a", b"") and not files.write("b/c", b"y" * 100)
    assert sorted(str(one.relative_to(folder)) for one in folder.rglob("*")) == ["a", "b", "b/c", "d"]
    (folder / "b" / "c").unlink()
    (folder / "a").write_bytes(b"x" * 101)  # what the person writes counts, and is left alone
    with pytest.raises(Refused):
        Workspace(folder, Caps(workspace_bytes=100)).write("z", b"z")
    assert not Workspace(folder, Caps(workspace_bytes=100)).write("a", b"smaller")


def test_writers_at_the_same_time_share_what_is_left(tmp_path: Path) -> None:
    caps = Caps(workspace_bytes=1000)
    quota = Quota(tmp_path / "workspace", caps)

    def write(number: int) -> int:
        try:
            Workspace(tmp_path / "workspace", caps, quota).write(f"{number}.txt", b"x" * 100)
        except Refused as error:
            return error.status
        return 0

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(write, range(40)))
    assert sorted(found) == [0] * 10 + [507] * 30
    assert len(list((tmp_path / "workspace").iterdir())) == 10


@pytest.mark.podman
async def test_a_full_workspace_is_reported_to_the_tool_and_recorded(bench: Bench, folder: Path) -> None:
    bench.open(workspace=folder, caps=Caps(workspace_bytes=100_000))
    code = FILES + "def run(): return [call(f'/files/out/{n}', b'x' * 40_000, 'PUT')[0] for n in range(4)]\n"
    assert (await bench.run(code, WRITE)).result == [201, 201, 507, 507]
    assert [one.outcome for one in bench.told] == ["served", "served", "refused", "refused"]
    assert "remove what is not needed" in bench.told[-1].reason


@pytest.mark.podman
async def test_a_tool_reads_and_writes_as_granted(bench: Bench, folder: Path) -> None:
    bench.open(workspace=folder)
    code = (
        FILES
        + "def run(text): return [call('/files/'), call('/files/' + urllib.parse.quote('data/ü b.csv')), call('/files/out/b.txt', text.encode(), 'PUT'), call('/files/out/b.txt'), call('/files/gone')]\n"
    )
    report = await bench.run(code, WRITE, text="é" * 20_000)
    assert report.status == "ok", report
    listed, read, wrote, again, gone = report.result
    assert listed == [200, '["a.txt", "data/\\u00fc b.csv"]'] and read == [200, "x,y\n1,2\n"]
    assert wrote == [201, ""] and again[1].encode("latin-1").decode() == "é" * 20_000
    assert (folder / "out/b.txt").read_text() == "é" * 20_000
    assert gone[0] == 404
    assert [(one.request, one.outcome) for one in bench.told][:3] == [
        ("GET /files/", "served"),
        ("GET /files/data/%C3%BC%20b.csv", "served"),
        ("PUT /files/out/b.txt", "served"),
    ]
    assert bench.told[-1].outcome == "refused"


@pytest.mark.podman
async def test_a_read_grant_allows_neither_writing_nor_a_network(bench: Bench, folder: Path) -> None:
    bench.open(workspace=folder, allowed=("127.0.0.1",))
    code = (
        FILES
        + "def run(): return [call('/files/a.txt', b'x', 'PUT')[0], call('/files/a.txt')[0], call('/files/a.txt', method='DELETE')[0], call('/model', b'{}')[0], [n for n in os.environ if 'proxy' in n.lower()]]\n"
    )
    assert (await bench.run(code, READ)).result == [403, 200, 405, 403, []]
    assert (folder / "a.txt").read_text() == "hello"


ASK = (
    FILES
    + "def run(times=1, **body):\n    return [call('/model', json.dumps(body).encode()) for _ in range(times)]\n"
)


@pytest.mark.podman
async def test_model_calls_are_counted_and_capped(bench: Bench) -> None:
    models = Models()
    bench.open(models=models, caps=Caps(model_tokens=50))
    report = await bench.run(ASK, Capabilities(model_calls=2), times=3, prompt="hello", max_tokens=5000)
    first, second, third = report.result
    assert first == second == [200, '{"text": "HELLO", "model": "p:m", "tokens": 7}'] and third[0] == 429
    assert [(one.role, one.max_tokens) for one in models.asked] == [("summariser", 50)] * 2
    assert [one.outcome for one in bench.told] == ["served", "served", "refused"]
    malformed = await bench.run(ASK, Capabilities(model_calls=2), prompt=5)
    assert malformed.result[0][0] == 400 and len(models.asked) == 2


@pytest.mark.podman
@pytest.mark.parametrize(
    ("fault", "status"),
    [(BudgetExceeded("The task may cost $1."), 402), (ModelError("server", "It broke."), 502)],
)
async def test_a_model_that_does_not_answer_is_reported_to_the_tool(
    bench: Bench, fault: Exception, status: int
) -> None:
    bench.open(models=Models(fault))
    report = await bench.run(ASK, Capabilities(model_calls=1), prompt="hello")
    assert report.result[0][0] == status


@pytest.mark.podman
async def test_the_time_limit_pauses_while_a_model_answers(bench: Bench) -> None:
    import asyncio

    import msgspec

    class Slow(Models):
        async def ask(self, request: ModelRequest) -> Reply:
            await asyncio.sleep(1.5)
            return await super().ask(request)

    bench.open(models=Slow())
    limits = msgspec.structs.replace(LIMITS, wall_seconds=1)
    report = await bench.run(ASK, Capabilities(model_calls=1), limits=limits, prompt="hello")
    assert (report.status, report.result[0][0]) == ("ok", 200), report
    lazy = ASK.replace("    return", "    import time\n    said =") + "    time.sleep(20)\n"
    late = await bench.run(lazy, Capabilities(model_calls=1), limits=limits, prompt="hello")
    assert late.status == "timeout" and late.duration_ms < 5000


@pytest.mark.podman
async def test_an_interrupted_tool_leaves_a_record(bench: Bench) -> None:
    import asyncio

    started = asyncio.Event()

    class Endless(Models):
        async def ask(self, request: ModelRequest) -> Reply:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    bench.open(models=Endless())
    running = asyncio.create_task(bench.run(ASK, Capabilities(model_calls=1), prompt="hello"))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [(one.outcome, one.reason) for one in bench.told] == [
        ("failed", "the run ended before it was served")
    ]


@pytest.mark.podman
async def test_model_calls_at_the_same_time_stop_the_clock_once(bench: Bench) -> None:
    import asyncio

    import msgspec

    loop, spans, together = asyncio.get_running_loop(), list[float](), asyncio.Barrier(6)

    class Slow(Models):
        async def ask(self, request: ModelRequest) -> Reply:
            spans.append(loop.time())
            await together.wait()
            await asyncio.sleep(1.5)
            spans.append(loop.time())
            return await super().ask(request)

    bench.open(models=Slow())
    code = (
        ASK
        + "import threading, time\n"
        + "def run(**body):\n    asked = json.dumps(body).encode()\n"
        + "    for _ in range(6): threading.Thread(target=call, args=('/model', asked)).start()\n    time.sleep(60)\n"
    )
    limits = msgspec.structs.replace(LIMITS, wall_seconds=2)
    report = await bench.run(code, Capabilities(model_calls=6), limits=limits, prompt="hello")
    assert report.reason == "wall" and len(spans) == 12
    waited = max(spans) - min(spans)
    assert 2000 < report.duration_ms < (2 + waited + 2.5) * 1000, "what they took together, not one by one"
