"""`python -m tests.benchmarks.cluster_costs`: processor time of a cluster's parts for each batch and for each row.

Maps of many and of few batches are solved for both. It is processor time, so other work on the machine matters little.
Rows are doubled by the workers themselves, without a sandbox. `tests.benchmarks map` measures the sandbox.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from alita_tui.mapping.journal import MANIFEST
from tests.mapping.clusters import ROOT, doubling, founded, free_port, process, scheduling

_MAPS = ((1_000, 10), (20_000, 10), (20_000, 100), (100_000, 1_000))
"""Rows of a map, and of a batch at most."""
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_ms(pids: Sequence[int]) -> float:
    """Return the processor time that processes took until now."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return 1000 * ticks / _TICKS


def peak_mb(pid: int) -> float:
    """Return the most memory that a process held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main() -> None:
    """Print the figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="alita-cluster-") as name, ExitStack() as stack:
        folder, port = Path(name), free_port()
        home = folder / "home"
        founded(home / "cluster")
        scheduler = stack.enter_context(scheduling(home, port))
        workers = [stack.enter_context(doubling(home / "cluster", port, Path(os.devnull))) for _ in range(2)]
        sizes, spent, peaks = [], [], []
        for number, (count, most) in enumerate(_MAPS):
            given, out = folder / f"{number}.jsonl", folder / f"out-{number}"
            given.write_text(
                "".join(f'{{"x": {n}, "filled up to a hundred bytes": "{"." * 50}"}}\n' for n in range(count))
            )
            command = (
                str(ROOT / "tests/support/servers/cluster_map.py"), str(home / "cluster"),
                f"tls://127.0.0.1:{port}", str(given), str(out), str(most),
            )  # fmt: skip
            pids = [worker.pid for worker in workers]
            before = processor_ms([scheduler.pid]), processor_ms(pids)
            with process(*command, said="") as coordinator:
                assert coordinator.stdout is not None
                own = peak = 0.0
                for line in coordinator.stdout:  # a line a batch
                    if int(line) > 0.98 * count or not own:
                        own, peak = processor_ms([coordinator.pid]), peak_mb(coordinator.pid)
                assert coordinator.wait(60) == 0
            parts = json.loads((out / MANIFEST).read_text())["parts"]
            assert sum(part["ok"] for part in parts) == count
            sizes.append((1.0, len(parts), count))
            spent.append((processor_ms([scheduler.pid]) - before[0], own, processor_ms(pids) - before[1]))
            peaks.append((peak_mb(scheduler.pid), peak))
        (_, batch, row), *_ = np.linalg.lstsq(np.array(sizes), np.array(spent), rcond=None)
        names = ("scheduler", "coordinator", "worker")
        figures = {
            "ms_per_batch": dict(zip(names, map(float, batch.round(2)), strict=True)),
            "us_per_row": dict(zip(names, map(float, (1000 * row).round(1)), strict=True)),
            "peak_mb": {f"{count} rows": pair for (count, _), pair in zip(_MAPS, peaks, strict=True)},
        }
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
