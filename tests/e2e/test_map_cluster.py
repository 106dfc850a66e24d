"""`alita worker` and `alita tools map --engine tls://…` as people run them, each machine with a home of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from alita_tui.mapping.journal import FAILED
from tests.e2e.test_map import results
from tests.mapping.clusters import alita, founded, free_port, process, scheduling
from tests.mapping.interrupting import interrupted
from tests.support.mcp_lab import ADD, BOOM, furnished

pytest.importorskip("distributed", reason="Dask is an extra: pip install 'alita-tui[dask]'; `make jobs` does")
pytestmark = [pytest.mark.walk, pytest.mark.podman, pytest.mark.slow]


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
    at = Machines(here, there, folder / "shared", f"tls://127.0.0.1:{port}")
    words = (
        "-m",
        "alita_tui",
        "--home",
        str(there),
        "worker",
        at.address,
        "--data",
        str(at.shared),
        "--lanes",
        "2",
    )
    with scheduling(here, port), process(*words, said="2 rows at a time") as working:
        yield at
        os.kill(working.pid, signal.SIGINT)
        assert working.wait(180) == 0


def mapping(at: Machines, name: str, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """The command that maps a tool on the cluster, into a folder of the tool's name."""
    given = at.shared / f"{name}-{len(rows)}.jsonl"
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out = str(given.with_suffix(""))
    return "tools", "map", name, "--input", str(given), "--output", out, "--engine", at.address


def test_a_tool_runs_where_it_was_approved(machines: Machines) -> None:
    rows: list[dict[str, Any]] = [{"a": n, "b": 0.5} for n in range(200)]
    rows[49] = {"a": "one", "b": 1}
    done = alita(machines.here, *mapping(machines, "add_numbers", rows), "--json")
    assert done.returncode == 1, done.stderr
    out = machines.shared / "add_numbers-200"
    assert json.loads(done.stdout) == {"ok": 199, "failed": 1, "output": str(out)}
    assert [(one["row"], one["result"]) for one in results(out)] == [
        (n + 1, {"sum": n + 0.5}) for n in range(200) if n != 49
    ]
    [failed] = [json.loads(line) for line in (out / FAILED).read_text().splitlines()]
    assert failed["arguments"] == rows[49] and "is not of type 'number'" in failed["reason"]


def test_a_worker_reads_rows_of_parquet_itself(machines: Machines) -> None:
    reason = "pyarrow is an extra: pip install 'alita-tui[parquet]'; `make jobs` does"
    pyarrow, parquet = (pytest.importorskip(name, reason=reason) for name in ("pyarrow", "pyarrow.parquet"))
    given = machines.shared / "in.parquet"
    numbers = [float("nan") if n == 49 else n + 0.5 for n in range(200)]
    parquet.write_table(pyarrow.table({"a": numbers, "b": [1] * 200}), given, row_group_size=30)
    out = machines.shared / "of-parquet"
    words = ("--input", str(given), "--output", str(out), "--engine", machines.address)
    done = alita(machines.here, "tools", "map", "add_numbers", *words, "--json")
    assert done.returncode == 1, done.stderr
    assert [(one["row"], one["result"]) for one in results(out)] == [
        (n + 1, {"sum": n + 1.5}) for n in range(200) if n != 49
    ]
    [failed] = [json.loads(line) for line in (out / FAILED).read_text().splitlines()]
    assert "column a has no JSON value" in failed["reason"]


def test_a_tool_that_was_approved_on_no_worker_runs_nowhere(machines: Machines) -> None:
    done = alita(machines.here, *mapping(machines, "always_fails", [{"why": "x"}]))
    assert done.returncode == 6 and "No worker can run it. No tool with the digest" in done.stderr


def test_a_map_on_a_cluster_is_stopped_by_one_key(machines: Machines) -> None:
    words = mapping(machines, "add_numbers", [{"a": n, "b": 1} for n in range(5_000)])
    out = machines.shared / "add_numbers-5000"
    command = (sys.executable, "-m", "alita_tui", "--home", str(machines.here), *words)
    code, said = interrupted(command, out)
    assert code == 130 and "Traceback" not in said
    assert "Stopped." in said and f"--engine {machines.address}" in said
    alone = alita(machines.here, *mapping(machines, "add_numbers", [{"a": 1, "b": 1}]), "--json")
    assert alone.returncode == 0, "its workers have lanes again"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("worker", "--scheduler", "0.0.0.0"), "is not a single address"),
        (("worker", "tls://127.0.0.1:1", "--data", ".", "--bind", "::"), "is not a single address"),
        (("worker", "--scheduler", "192.0.2.1:9"), "cannot be listened at"),
    ],
)  # fmt: skip
def test_a_cluster_that_would_be_open_to_others_is_refused(
    machines: Machines, words: tuple[str, ...], said: str
) -> None:
    done = alita(machines.here, *words)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
