"""10,000 rows over a cluster whose workers and coordinator are killed: all right, in order, nothing lost."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from alita_tui.mapping.journal import MANIFEST
from tests.mapping.clusters import ROOT, doubling, founded, free_port, process, scheduling

pytest.importorskip("distributed", reason="Dask is an extra: pip install 'alita-tui[dask]'; `make jobs` does")
pytestmark = [pytest.mark.walk, pytest.mark.slow]

ROWS = 10_000
MAP = str(ROOT / "tests/support/servers/cluster_map.py")


def test_a_map_that_loses_its_scheduler_ends_with_the_reason(tmp_path: Path) -> None:
    home, port, log = tmp_path / "home", free_port(), tmp_path / "log"
    founded(home / "cluster")
    given, out = tmp_path / "in.jsonl", tmp_path / "out"
    given.write_text('{"x": 1}\n' * 2_000)
    words = (MAP, str(home / "cluster"), f"tls://127.0.0.1:{port}", str(given), str(out))
    with ExitStack() as stack:
        scheduler = stack.enter_context(scheduling(home, port))
        worker = stack.enter_context(doubling(home / "cluster", port, log, ROW_SECONDS="0.01"))
        with process(*words, said="") as coordinator:
            scheduler.kill()
            said = coordinator.communicate(timeout=60)[0]
        assert coordinator.returncode and "SandboxUnavailable: The scheduler at" in said
        assert worker.wait(60) is not None, "a worker without a scheduler ends, too"
    assert not (out / MANIFEST).exists() and [*out.glob("part-*")]


def test_kills_only_cost_time(tmp_path: Path) -> None:
    home, port, log = tmp_path / "home", free_port(), tmp_path / "log"
    founded(home / "cluster", tmp_path / "other")
    given, out = tmp_path / "in.jsonl", tmp_path / "out"
    given.write_text("".join(f'{{"x": {n}}}\n' for n in range(ROWS)))
    words = (MAP, str(home / "cluster"), f"tls://127.0.0.1:{port}", str(given), str(out))
    with ExitStack() as stack:
        stack.enter_context(scheduling(home, port))
        workers = [
            stack.enter_context(doubling(tmp_path / "other", port, log, ROW_SECONDS="0.001"))
            for _ in range(3)
        ]

        def until(coordinator, rows: int) -> None:
            assert any(int(line) >= rows for line in coordinator.stdout)

        with process(*words, said="") as coordinator:
            until(coordinator, 1_000)
            workers[0].kill()
            until(coordinator, 3_000)
            coordinator.kill()
        assert not (out / MANIFEST).exists()
        with process(*words, said="") as coordinator:
            until(coordinator, 6_000)
            workers[1].kill()
            rest = coordinator.communicate(timeout=60)[0]
            assert coordinator.returncode == 0, rest
    parts = json.loads((out / MANIFEST).read_text())["parts"]
    found = [json.loads(line) for part in parts for line in (out / part["file"]).read_text().splitlines()]
    assert [(one["row"], one["result"]) for one in found] == [(n + 1, 2 * n) for n in range(ROWS)]
    ran = Counter(int(line.split()[0]) for line in log.read_text().splitlines())
    again = sum(times - 1 for times in ran.values())
    print(f"{again} rows ran again", file=sys.stderr)
    assert set(ran) == set(range(1, ROWS + 1)) and max(ran.values()) <= 3
    assert again < ROWS // 2, "what was done is not done again"
