"""What the evidence gates let through and what they refuse, over the whole seeded corpus in real containers.

Run alone: python -m tests.benchmarks.bench_gates
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "toolsmith"))
from corpus import corpus  # the folders above are on the path only now
from trials import judge_all, shares

from alita_tui.sandbox.policy import default_settings
from alita_tui.sandbox.setup import repair

Row = dict[str, float | str | None]
MakeRow = Callable[..., Row]


def gates(results: dict[str, Row], row: MakeRow) -> None:
    """Judge every draft of the corpus; say on standard error which were judged wrongly."""
    samples = list(corpus())
    with tempfile.TemporaryDirectory(prefix="alita-bench-gates-") as folder:
        settings = default_settings(Path(folder) / "data", Path(folder) / "cache")
        asyncio.run(repair(settings, lambda *_: None))
        started = time.perf_counter()
        judged = asyncio.run(judge_all(samples, settings))
        took = time.perf_counter() - started
    for sample, verdict in judged:
        if verdict.trusted != sample.good:
            print(f"gates: {sample.label}: {verdict.reason or 'trusted'}", file=sys.stderr)
    bad_trusted, good_refused = shares(judged)
    results["gate.bad_trusted_percent"] = row(bad_trusted, "%")
    results["gate.good_refused_percent"] = row(good_refused, "%")
    results["gate.drafts"] = row(len(judged), "")
    results["gate.seconds_per_draft"] = row(took / len(judged), "s")


if __name__ == "__main__":
    from tests.benchmarks.__main__ import row as make_row

    found: dict[str, Row] = {}
    gates(found, make_row)
    print(json.dumps(found, indent=2))
