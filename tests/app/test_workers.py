"""What a worker runs for whoever asks: tools that were approved on it, on rows of the folders that it was given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.workers import Rows
from alita_tui.events import Capabilities
from alita_tui.mapping.cluster.orders import Answer, Order, encoded, ordered
from alita_tui.mapping.rows import opened, rows
from tests.support.mcp_lab import ADD, approve, schema, tool

FETCH = tool(
    "fetch_it", "def run(a: float) -> float:\n    return a\n", schema("a", a={"type": "number"}),
    capabilities=Capabilities(network=("GET example.org:443",)),
)  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppContext]:
    app = approve(tmp_path_factory.mktemp("worker") / "home", ADD, FETCH)
    yield app
    app.close()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    (folder / "below").mkdir(parents=True)
    (folder / "in.jsonl").write_text('{"a": 1, "b": 2}\nno row\n{"a": 3, "b": 4}\n')
    (folder / "in.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "secret.jsonl").write_text('{"password": 1}\n')
    os.symlink(tmp_path / "secret.jsonl", folder / "link.jsonl")
    os.symlink(tmp_path, folder / "up")
    return folder


def order(app: AppContext, path: Path, name: str = "add_numbers") -> Order:
    record = app.library.get(name)
    given = opened(path, record.draft.input_schema)
    usable = [row for row in rows(path, record.draft.input_schema) if not row.problem]
    return ordered(str(record.digest), given, usable)


async def refused(app: AppContext, shared: Path, asked: object) -> str:
    worker = Rows(app, [shared], 1)
    answer = msgspec.json.decode(
        await worker.answer(encoded(asked) if isinstance(asked, Order) else asked), type=Answer
    )
    await worker.close()
    assert not answer.outcomes and not answer.lost
    return answer.refused


def to(path: str) -> Callable[[Order, Path], Order]:
    return lambda good, shared: msgspec.structs.replace(good, file=path.format(shared=shared))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda good, _: msgspec.structs.replace(good, tool="d" * 64), "No tool with the digest dddddddddddd"),
        (lambda good, _: msgspec.structs.replace(good, rows=1), "other rows than were counted"),
        (lambda good, _: msgspec.structs.replace(good, sha256="0" * 64), "another file here"),
        (lambda good, _: msgspec.structs.replace(good, start=1), "another file here"),
        (to("{shared}/../secret.jsonl"), "in no folder"),
        (to("{shared}/link.jsonl"), "link.jsonl is a link, and a worker follows none"),
        (to("{shared}/up/secret.jsonl"), "up is a link, and a worker follows none"),
        (to("{shared}/below"), "no file of rows"),
        (to("{shared}/gone.jsonl"), "cannot be read"),
        (to("/etc/passwd"), "no file of rows"),
        (to("/proc/self/environ.csv"), "in no folder"),
        (to("in.jsonl"), "in no folder"),
    ],
)  # fmt: skip
async def test_a_worker_refuses_a_tool_or_file_that_is_missing_or_different(
    app: AppContext, shared: Path, change: Callable[[Order, Path], Order], said: str
) -> None:
    asked = change(order(app, shared / "in.jsonl"), shared)
    assert said in await refused(app, shared, asked)


async def test_a_worker_refuses_a_parquet_file_that_is_another_one_here(
    app: AppContext, shared: Path
) -> None:
    reason = "pyarrow is an extra: pip install 'alita-tui[parquet]'; `make jobs` does"
    pyarrow, parquet = (pytest.importorskip(name, reason=reason) for name in ("pyarrow", "pyarrow.parquet"))
    path = shared / "in.parquet"
    parquet.write_table(pyarrow.table({"a": [1, 2, 3], "b": [4, 5, 6]}), path)
    good = order(app, path)
    for change in ({"rows": 2}, {"first": 2}, {"end": good.end - 1}, {"sha256": "0" * 64}):
        assert "another file here" in await refused(app, shared, msgspec.structs.replace(good, **change))
    parquet.write_table(pyarrow.table({"a": [1, 2, 4], "b": [4, 5, 6]}), path)
    assert "another file here" in await refused(app, shared, good)
    path.write_bytes(path.read_bytes()[:-9])
    assert "Parquet file cannot be read" in await refused(app, shared, good)


async def test_a_worker_refuses_a_pipe_without_waiting(app: AppContext, shared: Path) -> None:
    good = order(app, shared / "in.jsonl")
    os.mkfifo(shared / "pipe.jsonl")
    asked = msgspec.structs.replace(good, file=str(shared / "pipe.jsonl"))
    assert "not a regular file" in await refused(app, shared, asked)


@pytest.mark.parametrize("text", ["", None, b"{}", "{}", "[" * 60_000, '{"code": "import os"}'])
async def test_an_invalid_order_gets_an_answer(app: AppContext, shared: Path, text: object) -> None:
    assert "cannot be read" in await refused(app, shared, text)


async def test_a_worker_refuses_a_tool_with_grants(app: AppContext, shared: Path) -> None:
    assert "is granted something" in await refused(app, shared, order(app, shared / "in.jsonl", "fetch_it"))


async def test_a_tool_whose_files_or_approval_are_not_those_of_this_machine_is_refused(
    tmp_path: Path, shared: Path
) -> None:
    theirs = approve(tmp_path / "theirs", ADD)
    try:
        good = order(theirs, shared / "in.jsonl")
        [code] = theirs.paths.mcp_box.rglob("add_numbers*.py")
        before = code.read_text()
        code.write_text(before.replace("a + b", "a - b"))
        assert "not the ones that were approved" in await refused(theirs, shared, good)
        code.write_text(before)
        theirs.paths.audit.unlink()  # its approval cannot be proved any more
        assert await refused(theirs, shared, good)
    finally:
        theirs.close()
