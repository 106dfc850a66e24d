"""Suites, homes and commands that the tests of evaluations share."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alita_tui.llm.scripted import Rule, Script
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer


def suite(folder: Path, *lines: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cases.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return folder


MIND = Script(
    format="alita-script/1",
    name="sums",
    rules=(
        Rule(role="orchestrator", match="TASK: .*wrong", replies=(act("answer", text="It is 41."),)),
        Rule(
            role="orchestrator",
            match="TASK: ",
            replies=(act("find_tool", query="add numbers"), act("answer", text="It is 42.")),
        ),
    ),
)


CALL = 0.00208
"""Dollars of one call of the scripted mind at the prices below."""


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "alita_tui", "--home", str(home), "eval", *words]


def alita(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(home, *words), capture_output=True, text=True, timeout=280, stdin=subprocess.DEVNULL
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def settle(home: Path, server: OpenAIServer) -> None:
    home.mkdir()
    (home / "config.toml").write_text(
        f'[roles]\norchestrator = ["custom:one; base_url={server.base_url}; input_usd=1; output_usd=2"]\n'
    )


def sums(folder: Path, count: int, wrong: int = 0) -> Path:
    check = {"kind": "number", "value": 42}
    lines: list[Any] = [{"id": f"sum-{n}", "task": f"Add {n}.", "check": check} for n in range(count)]
    lines += [{"id": f"off-{n}", "task": f"Add {n}, wrong.", "check": check} for n in range(wrong)]
    return suite(folder, *lines)


def until(holds: Callable[[], bool], process: subprocess.Popen[Any]) -> None:
    while not holds():
        assert process.poll() is None, "it ended before"
        time.sleep(0.02)
