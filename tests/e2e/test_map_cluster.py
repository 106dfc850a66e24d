"""`alita worker` and `alita tools map --engine tls://…` as people run them, each machine with a home of its own."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from alita_tui.mapping.journal import FAILED
from tests.e2e.test_map import results
from tests.mapping.clusters import alita, founded, free_port, process, scheduling
from tests.mcp_box.lab import ADD, BOOM, furnished

pytest.importorskip("distributed", reason="Dask is an extra: pip install 'alita-tui[dask]'; `make jobs` does")
pytestmark = [pytest.mark.podman, pytest.mark.slow]


class Machines(NamedTuple):
    here: Path
    """Home of the coordinator and the scheduler, with all tools."""
    there: Path
    """Home of a worker that knows one of them."""
    shared: Path
    address: str


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory, sandbox_ready: None) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    here, there = furnished(folder / "here", ADD, BOOM), furnished(folder / "there", ADD)
    founded(here / "cluster", there / "cluster")
    (folder / "shared").mkdir()
    port = free_port()
    with scheduling(here, port):
        yield Machines(here, there, folder / "shared", f"tls://127.0.0.1:{port}")


def test_a_tool_runs_where_it_was_approved_and_nowhere_else(machines: Machines) -> None:
    here, there, shared, address = machines
    rows: list[dict[str, Any]] = [{"a": n, "b": 0.5} for n in range(200)]
    rows[49] = {"a": "one", "b": 1}
    (shared / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (shared / "boom.jsonl").write_text('{"why": "x"}\n')
    words = ("--input", str(shared / "in.jsonl"), "--output", str(shared / "out"), "--engine", address)
    worker = ("-m", "alita_tui", "--home", str(there), "worker", address, "--data", str(shared))
    with process(*worker, "--lanes", "2", said="2 rows at a time") as working:
        unknown = alita(
            here, "tools", "map", "always_fails", "--input", str(shared / "boom.jsonl"),
            "--output", str(shared / "boom"), "--engine", address,
        )  # fmt: skip
        assert unknown.returncode == 6 and "No worker can run it. No tool with the digest" in unknown.stderr
        done = alita(here, "tools", "map", "add_numbers", *words, "--json")
        assert done.returncode == 1, done.stderr
        assert json.loads(done.stdout) == {"ok": 199, "failed": 1, "output": str(shared / "out")}
        os.kill(working.pid, signal.SIGINT)
        assert working.wait(60) == 0
    assert [(one["row"], one["result"]) for one in results(shared / "out")] == [
        (n + 1, {"sum": n + 0.5}) for n in range(200) if n != 49
    ]
    [failed] = [json.loads(line) for line in (shared / "out" / FAILED).read_text().splitlines()]
    assert failed["arguments"] == rows[49] and "is not of type 'number'" in failed["reason"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("worker", "tcp://127.0.0.1:1", "--data", "."), "nothing goes without TLS"),
        (("worker", "--scheduler", "0.0.0.0"), "no single address"),
        (("worker", "--scheduler", "tcp://127.0.0.1:1"), "nothing goes without TLS"),
        (("worker", "tls://127.0.0.1:1", "--data", ".", "--bind", "::"), "no single address"),
        (("worker", "tls://127.0.0.1:1"), "--data FOLDER"),
        (("worker", "--scheduler", "192.0.2.1:9"), "cannot be listened at"),
    ],
)  # fmt: skip
def test_what_would_be_open_is_refused(machines: Machines, words: tuple[str, ...], said: str) -> None:
    done = alita(machines.here, *words)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
