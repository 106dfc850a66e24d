"""`alita tools map`: rows a second with lanes and on a cluster, against the same calls one by one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from alita_tui.app import mapping as mapping_app
from alita_tui.app.context import AppContext
from alita_tui.app.mapping import described, engine_of, map_tool
from alita_tui.cli.mapping import LANES
from alita_tui.mapping.coordinator import run_map
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.mapping.clusters import founded, free_port, process, scheduling
from tests.support.mcp_lab import furnished, schema, tool

_ROWS, _ROUNDS = 5000, 2
"""Rows of a map that is timed, and how often each kind is, in turns: what else the machine does meets all of them."""
_FEW, _SOME = 100, 1000
"""Rows of the runs that warm up, and of those that compare a cluster with lanes."""
_WORKER_LANES = "2"
"""Lanes of each of the two workers: the default of a machine with one core, which is what each has here."""
_BATCH = 50
"""Rows of a batch at most where a cluster is compared with lanes."""
_BUSY = tool(
    "keep_busy",
    "import time\ndef run(n: int) -> int:\n    end = time.thread_time() + 0.02\n"
    "    while time.thread_time() < end:\n        pass\n    return n\n",
    schema("n", n={"type": "integer"}),
    {"type": "integer"},
)
"""Takes 20 ms of processor time. The clock of the process would move only when the kernel's timer ticks, because it has a
limit: each call took a millisecond or two longer, fewer where several lanes share a core.
"""


class Spent(NamedTuple):
    """What a map took from start to end."""

    rows: int
    seconds: float
    processor_seconds: float
    """Of this process and of all that it started, containers included; workers of a cluster are not."""

    @property
    def pace(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds

    @property
    def processor_ms(self) -> float:
        """Milliseconds of processor time per row."""
        return 1000 * self.processor_seconds / self.rows


def in_turns(*maps: Callable[[], Spent]) -> list[Spent]:
    """Run maps in turns, each as often; return the sum of each."""
    rounds = [[one() for one in maps] for _ in range(_ROUNDS)]
    return [Spent(*map(sum, zip(*each, strict=True))) for each in zip(*rounds, strict=True)]


def mapping(results: dict[str, Any], row: Callable[..., dict[str, Any]]) -> None:
    """Map a tool of 20 ms over some rows with one lane, with as many as by default, and on a cluster; a million rows of
    nothing.
    """
    fewer, more = coordinated(100_000), coordinated(1_000_000)
    results["map.peak_mb_of_1e6_rows"] = row(more["peak_mb"], "MB", fewer["peak_mb"])
    results["map.coordinator_rows_per_second"] = row(more["rows"] / more["seconds"], "/s")
    with tempfile.TemporaryDirectory(prefix="alita-bench-map-") as name:
        folder = Path(name)
        home = furnished(folder / "home", _BUSY)
        asyncio.run(repair(EngineSettings(cache_dir=str(home / "cache")), lambda *_: None))
        app = AppContext.open(home)
        try:
            timed = partial(mapped, app, folder)
            timed(_FEW, 1)  # images and caches
            one_by_one, lanes = in_turns(partial(timed, _ROWS, 1), partial(timed, _ROWS, LANES))
            results["map.rows_per_second"] = row(lanes.pace, "/s", one_by_one.pace)
            results["map.processor_ms_per_row"] = row(lanes.processor_ms, "ms", one_by_one.processor_ms)
            if find_spec("distributed") is None:
                why = "not measured: Dask is not installed"
                results["map.dask_ratio"] = {"value": None, "unit": why, "baseline": None, "ratio": None}
                return
            with cluster(home, folder) as address:
                timed(_FEW, 1, address)
                [on_cluster] = in_turns(partial(timed, _ROWS, 1, address))
                results["map.dask_ratio"] = row(on_cluster.pace, "/s", one_by_one.pace)
                with patch.object(mapping_app, "run_map", partial(run_map, most=_BATCH)):
                    here, there = in_turns(partial(timed, _SOME, 4), partial(timed, _SOME, 1, address))
            results["map.overhead_ms_per_row"] = row(1000 / there.pace - 1000 / here.pace, "ms")
        finally:
            app.close()


def mapped(app: AppContext, folder: Path, count: int, lanes: int, *engines: str) -> Spent:
    """Map so many rows from start to end."""
    given = folder / f"{count}.jsonl"
    given.write_text("".join(f"{json.dumps({'n': n})}\n" for n in range(count)))
    record, file = described(app, "keep_busy", given)
    output = folder / f"out-{time.monotonic_ns()}"
    processor, began = sum(os.times()[:4]), time.monotonic()
    where = engine_of(app, record, file, engines, lanes, output)
    done = asyncio.run(map_tool(app, record, file, output, where, lambda _: None))
    assert done.ok == count, done
    return Spent(count, time.monotonic() - began, sum(os.times()[:4]) - processor)


def coordinated(count: int) -> dict[str, float]:
    """Run so many rows through a coordinator in a process of its own; return rows, seconds and its peak in MB."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-rows-") as name:
        given = Path(name) / "in.jsonl"
        with given.open("w") as file:
            file.writelines(f'{{"n": {n}}}\n' for n in range(count))
        command = [sys.executable, "-m", "tests.benchmarks.many_rows", str(given), str(Path(name) / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    assert found["rows"] == count
    return found


@contextmanager
def cluster(home: Path, shared: Path) -> Iterator[str]:
    """Run a scheduler and two workers of two lanes each, with the library of one home."""
    founded(home / "cluster")
    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    worker = ("worker", address, "--data", str(shared), "--lanes", _WORKER_LANES)
    words = ("-m", "alita_tui", "--home", str(home), *worker)
    with ExitStack() as stack:
        stack.enter_context(scheduling(home, port))
        for _ in range(2):
            stack.enter_context(process(*words, said="rows at a time"))
        yield address
