"""What the approval gate lets through and what it refuses, over both corpora of drafts, in real containers.

Run alone: python -m tests.benchmarks.bench_gates
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.attack.commit import seed_of_commit
from tests.attack.drafts import chosen, judge
from tests.toolsmith.corpus import corpus
from tests.toolsmith.trials import judge_all, shares

Row = dict[str, float | str | None]
MakeRow = Callable[..., Row]


def gates(results: dict[str, Row], row: MakeRow) -> None:
    """Judge every draft of both corpora and try verdicts by accident; what went wrong is on standard error."""
    seeded(results, row)
    attacked(results, row)
    accidents(results, row)


def seeded(results: dict[str, Row], row: MakeRow) -> None:
    """The seeded corpus of templates, good and bad."""
    samples = list(corpus())
    with tempfile.TemporaryDirectory(prefix="alita-bench-gates-") as folder:
        settings = EngineSettings(cache_dir=str(Path(folder) / "cache"))
        asyncio.run(repair(settings, lambda *_: None))
        judged = asyncio.run(judge_all(samples, settings))
    for sample, verdict in judged:
        if verdict.trusted != sample.good:
            print(f"gates: {sample.label}: {verdict.reason or 'trusted'}", file=sys.stderr)
    bad_trusted, good_refused = shares(judged)
    results["gate.bad_trusted_percent"] = row(bad_trusted, "%")
    results["gate.good_refused_percent"] = row(good_refused, "%")
    results["gate.drafts"] = row(len(judged), "")


def attacked(results: dict[str, Row], row: MakeRow) -> None:
    """The adversarial corpus and its honest tools, up to the screen; wall seconds a draft, two at a time."""
    found = judge(chosen(1, 0))
    for one in found.judged:
        if not one.held:
            print(f"gates: {one.how}: {one.sample.label}: {one.why[:200]}", file=sys.stderr)
    results["gate.adversarial_missed_percent"] = row(found.percent(honest=False), "%")
    results["gate.honest_marked_percent"] = row(found.percent(honest=True), "%")
    results["gate.adversarial_drafts"] = row(len(found.judged), "")
    results["gate.seconds_per_draft"] = row(found.seconds / len(found.judged), "s")


def accidents(results: dict[str, Row], row: MakeRow) -> None:
    """Verdicts that nobody meant, over all sequences of input that are tried."""
    from tests.attack.inputs import attack

    missed = [line for one in attack(1, seed_of_commit()) for line in one.missed]
    for line in missed:
        print(f"gates: a verdict by accident: {line}", file=sys.stderr)
    results["gate.accidental_verdicts"] = row(len(missed), "")


if __name__ == "__main__":
    from tests.benchmarks.__main__ import row as make_row

    found: dict[str, Row] = {}
    gates(found, make_row)
    print(json.dumps(found, indent=2))
