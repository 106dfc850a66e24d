"""The suites that ship, done by minds on a real wire: a stream whose library grows, and what leaving a part out costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.toolworld.mind import Mind

pytestmark = [pytest.mark.podman, pytest.mark.walk]
RULE = 'enabled = true\n[[rule]]\nname = "pure"\nmax_lines = 120\n'


def evaluated(shell: Any, mind: Mind, suite: str, *words: str) -> dict[str, Any]:
    """Run a suite with this mind; builds are approved by a rule of the person's, and by nothing else."""
    shell.environ |= {
        "ALITA_MODEL": "openai:toolworld",
        "ALITA_MODEL_BASE_URL": mind.base_url,
        "OPENAI_API_KEY": "sk-not-a-real-key",
    }
    shell.home.mkdir(mode=0o700, exist_ok=True)
    (shell.home / "policy.toml").write_text(RULE)
    (shell.home / "policy.toml").chmod(0o600)
    words = ("eval", "run", suite, "--approve", "policy", "--json", *words)
    ran = subprocess.run(
        [sys.executable, "-m", "alita_tui", *words],
        env=shell.environ, capture_output=True, text=True, timeout=580, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_toolworld_grows_a_library_under_a_rule(shell) -> None:
    with Mind(9) as mind:
        told = evaluated(shell, mind, "toolworld")
    cases = told["cases"]
    assert told["setup"]["stream"] and told["solved"] == len(cases) == 40, [
        one for one in cases if not one["solved"]
    ]
    needs = {tag for case in cases for tag in case["case"].split("-", 1)[1].split("-then-")}
    builds = sum(one["builds"] for one in cases)
    assert builds / len(needs) <= 1.5, "a need is built for once, and found again"
    assert sum(one["reused"] for one in cases[20:]) > sum(one["reused"] for one in cases[:10])
    assert len({one["home"] for one in cases}) == 1 and len({one["session_id"] for one in cases}) == len(
        cases
    )
    assert not list((Path(shell.home) / "data" / "mcp_box").glob("*/*")), "the person's library is as it was"
