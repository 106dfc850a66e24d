"""What leaving a part out costs on the shipped suite `toolworld`, with the scripted mind: one row of the table in docs/eval.md.

    python -m tests.benchmarks.toolworld.ablation [--without PART ...] [--plans] [--wrong SHARE] [--seed N]

With `--plans` the mind writes a plan for a task of several steps, which makes the row of `planner` mean something. With
`--wrong 1` the first draft of every tool that has a place for one has a slip that its own tests share, which makes the
row of `hidden-tests` mean something.
A person decides on each build through the command line, as anybody does, and accepts every risk by its name: no rule of a policy
approves a build whose hidden tests did not run. Needs the sandbox, and some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.toolworld.mind import Mind

_MOST_VERDICTS = 80


def measured(
    home: Path, seed: int, parts: list[str], *, plans: bool = False, wrong: float = 0.25
) -> dict[str, Any]:
    """Run the suite to its end, with a verdict for each build that waits; return what `alita eval run --json` says."""
    with Mind(seed, plans=plans, wrong=wrong) as mind:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ALITA_")},
            "ALITA_HOME": str(home), "ALITA_MODEL": "openai:toolworld", "ALITA_MODEL_BASE_URL": mind.base_url,
            "OPENAI_API_KEY": "sk-not-a-real-key", "ALITA_BUDGET_DAY_USD": "0",
        }  # fmt: skip

        def alita(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "alita_tui", *words],
                env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip

        words = [word for part in parts for word in ("--without", part)]
        ran = alita("eval", "run", "toolworld", "--approve", "person", "--json", *words)
        for _ in range(_MOST_VERDICTS):
            if ran.returncode != 4:
                break
            for line in alita("eval", "show", "last").stdout.splitlines():
                if "builds show" in line:
                    _, _, at, _, _, approval = line.split()
                    told = json.loads(alita("--home", at, "builds", "show", approval, "--json").stdout)
                    accept = [word for name in told["accept"] for word in ("--accept", name)]
                    digest = told["build"]["digest"]
                    alita("--home", at, "builds", "approve", approval, "--digest", digest, *accept)
                    print(
                        f"approved {told['build'].get('name', approval)} {accept}",
                        file=sys.stderr,
                        flush=True,
                    )
            ran = alita("eval", "run", "--resume", "last", "--json")
        if ran.returncode:
            raise SystemExit(ran.stderr)
        document: dict[str, Any] = json.loads(ran.stdout)
        return document


def main() -> None:
    """Print the row, and a line for each case that was not solved."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--seed", type=int, default=9, help="of the mind: what it writes wrong")
    parser.add_argument("--wrong", type=float, default=0.25, help="share of first drafts with a slip")
    parser.add_argument("--plans", action="store_true", help="let the mind write plans")
    given = parser.parse_args()
    parts = given.without
    with tempfile.TemporaryDirectory(prefix="alita-ablation-") as folder:
        told = measured(Path(folder) / "home", given.seed, parts, plans=given.plans, wrong=given.wrong)
    cases = told["cases"]
    calls, builds = (sum(one[name] for one in cases) for name in ("calls", "builds"))
    wrong = [f"{one['case']}: {one['failure']}" for one in cases if not one["solved"]]
    print(
        f"| `{', '.join(parts) or 'nothing'}` | {told['solved']} of {len(cases)} | {builds} | {calls / len(cases):.2f} |"
    )
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
