"""Clients that keep to nothing: a typed outcome, no crash, bounded memory, and no file that is not theirs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.serving.client_session import ClientSession, decoded
from alita_tui.app.serving.library import Serving
from alita_tui.mcp_box.serve.stdio import PromptLines, lines_of
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.serving import Client
from tests.mcp_box.hostile_client import ODD, Wire, call, mutated
from tests.support import mcp_lab as lab


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lab.furnished(tmp_path_factory.mktemp("hostile") / "home", lab.ADD)


@pytest.fixture
def wire(home: Path) -> Iterator[Wire]:
    with Wire(home) as one:
        yield one
    assert one.code == 0 and "Traceback" not in one.said, one.said


def test_odd_lines_are_answered_or_ignored(wire: Wire) -> None:
    random = Random(20261122)
    lines = [*ODD, *(mutated(random.choice(ODD), random) for _ in range(150))]
    for line in lines:
        wire.raw(line + b"\n")
    assert wire.ask("ping")["result"] == {}
    tools = wire.ask("tools/list")["result"]["tools"]
    assert [one["name"] for one in tools] == ["add_numbers"]
    assert wire.peak_mb < 400


@pytest.mark.parametrize(
    "arguments",
    [b'{"a":"\\ud800","b":1}', b'{"a":' * 150 + b"1" + b"}" * 150, b'{"a":' * 900 + b"1" + b"}" * 900],
)
def test_an_invalid_request_gets_an_answer_if_it_is_json(wire: Wire, arguments: bytes) -> None:
    params = b'{"name":"add_numbers","arguments":' + arguments + b"}"
    wire.raw(b'{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":' + params + b"}\n")
    assert "cannot be read" in wire.answer("mine", 30)["error"]["message"]
    assert wire.ask("ping")["result"] == {}


def test_a_line_of_100_mb_fills_nothing(wire: Wire) -> None:
    assert wire.ask("ping")["result"] == {}
    before = wire.peak_mb
    piece = b"x" * (1 << 20)
    wire.raw(
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":"'
    )
    for _ in range(100):
        wire.raw(piece)
    wire.raw(b'"}}}\n')
    assert wire.ask("ping")["result"] == {}
    assert wire.peak_mb - before < 60


def test_a_flood_is_answered_even_with_repeated_ids(wire: Wire) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n'
    wire.raw(note * 5_000)
    for number in range(300):
        wire.raw(call({"a": 1}, number % 3) + b"\n")
    assert wire.ask("ping")["result"] == {}
    said = ["too many"]
    while "too many" in said[-1]:  # until the flood has run off
        said.append(str(wire.ask("tools/call", name="add_numbers", arguments={"a": 1})).lower())
    assert "b is missing" in said[-1]
    assert wire.peak_mb < 400


async def test_endless_client_names_open_few_sessions_and_queue_few_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stay_cold(_: ClientSession) -> None:
        return

    monkeypatch.setattr(ClientSession, "_warm_up", stay_cold)
    home = lab.furnished(tmp_path / "home", lab.ADD)
    app = AppContext.open(home)
    serving = Serving(app)
    for number in range(20):
        answer = await serving.call(Client(name=f"client {number}"), "add_numbers", {"a": 1}, lambda _: None)
        assert "b is missing" in answer.failed
    some = Client(name="client 0")
    many = [serving.call(some, "add_numbers", {"a": 1}, lambda _: None) for _ in range(200)]
    found = [answer.failed for answer in await asyncio.gather(*many)]
    assert found.count("Too many calls wait already.") == 200 - 64
    await serving.close()
    app.close()
    assert len(lab.sessions(home)) == 9, "eight of their own and one for all others"


def test_lines_are_assembled_from_pieces(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    long = b"y" * 70_000
    path.write_bytes(b"one\n\n" + long + b"\n" + b"z" * 100_001 + b"\nlast\n" + b"w" * 100_000 + b"\nhalf")
    with path.open("rb") as file:
        found = list(lines_of(file.fileno(), 100_000))
    assert found == ["one", long.decode(), '{"too long": ', "last", "w" * 100_000], (
        "what has no end is no line"
    )


async def test_a_slow_client_delays_nobody_and_gets_every_answer_whole() -> None:
    reads, writes = os.pipe()
    wire = PromptLines(writes)
    texts = [f"{number} {'x' * size}\n" for number, size in enumerate([10, 4000, 70_000, 300_000, 5, 4095])]

    async def all_of_them() -> None:
        for text in texts:
            await wire.write(text)
            await wire.flush()

    work = asyncio.create_task(all_of_them())
    turns = 0
    while turns < 50:  # the loop goes on while the pipe is full
        await asyncio.sleep(0)
        turns += 1
    assert not work.done()
    found = b""
    whole = "".join(texts).encode()
    while len(found) < len(whole):
        found += await asyncio.to_thread(os.read, reads, 1000)
    await work
    assert found == whole
    os.close(reads)
    with pytest.raises(BrokenPipeError):
        await wire.write("gone\n")
    os.close(writes)


@pytest.mark.parametrize(
    ("uri", "data", "name"),
    [
        ("data:,a%20b", b"a b", "file"),
        ("data:text/csv;name=x.csv;base64,YSxi", b"a,b", "x.csv"),
        ("data:;name=..%2F..%2Fetc%2Fpasswd,x", b"x", "../../etc/passwd"),
        ("data:text/plain;charset=utf-8;base64,", b"", "file"),
    ],
)
def test_a_data_uri_is_decoded(uri: str, data: bytes, name: str) -> None:
    assert decoded(uri) == (data, name)


@pytest.mark.parametrize("uri", ["data:", "data:text/plain", "data:;base64,a", "data:;base64,Ä", "data:;base64,!!!!"])  # fmt: skip
def test_an_invalid_data_uri_is_refused(uri: str) -> None:
    with pytest.raises(UsageError):
        decoded(uri)
