"""Builds in an evaluation: a person who decides, and digests that were approved before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.app.context import DEMO_SCRIPT
from alita_tui.config.paths import shipped
from tests.e2e.walks import accepting, parked
from tests.evaluation.test_checks import suite

pytestmark = [pytest.mark.podman, pytest.mark.walk]


def test_only_what_was_approved_before_is_approved(shell, tmp_path: Path) -> None:
    task = json.loads((shipped("sessions") / DEMO_SCRIPT).read_text())["tasks"][0]
    folder = suite(
        tmp_path / "s", {"id": "mail", "task": task, "check": {"kind": "contains", "texts": ["valid"]}}
    )
    words = ("eval", "run", str(folder), "--model", "demo:recorded", "--json", "--approve")

    def cases(done) -> Any:
        return json.loads(done.stdout)["cases"]

    (none,) = cases(shell(*words, "none"))
    assert (none["failure"], none["builds"], none["runs"]) == ("approval", 1, 0)
    (unknown,) = cases(shell(*words, "digests"))
    assert unknown["failure"] == "approval", "nothing was approved yet"

    assert shell("demo", "--json").returncode == 4
    build = parked(shell)
    left = shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
    assert left.returncode == 0, left.stderr
    assert shell("resume").returncode == 0
    ran = shell(*words, "digests")
    (known,) = cases(ran)
    assert known["outcome"] == "answered" and known["solved"], ran.stderr

    waits = shell(*words, "person")
    assert waits.returncode == 4 and cases(waits) == []
    shown = shell("eval", "show", "last").stdout
    home = next(line.split()[2] for line in shown.splitlines() if "builds show" in line)
    left = shell(
        "--home", home, "builds", "approve", build_of(shown), "--digest", build["digest"], *accepting(build)
    )
    assert left.returncode == 0, left.stderr
    went_on = shell("eval", "run", "--resume", "last", "--json")
    assert went_on.returncode == 0, went_on.stderr
    assert [one["solved"] for one in cases(went_on)] == [True]


def test_a_program_of_the_suite_decides_in_the_sandbox(shell, tmp_path: Path) -> None:
    from tests.evaluation.test_run import MIND, settle
    from tests.support.servers.openai_server import OpenAIServer

    lines = [
        {"id": name, "task": "Add.", "check": {"kind": "program", "program": f"{name}.py"}}
        for name in PROGRAMS
    ]
    folder = suite(tmp_path / "s", *lines)
    for name, body in PROGRAMS.items():
        code = f"def run(answer: str, files: dict) -> object:\n    {body}\n"
        (folder / f"{name}.py").write_text(code.replace("HERE", repr(str(tmp_path))))
    with OpenAIServer(MIND) as server:
        settle(shell.home, server)
        ran = shell("eval", "run", str(folder), "--json")
    told = {one["case"]: one for one in json.loads(ran.stdout)["cases"]}
    assert told["yes"]["solved"], ran.stderr
    assert not told["no"]["solved"] and told["no"]["why"] == "not 43"
    assert (told["broken"]["solved"], told["broken"]["failure"]) == (False, "harness")
    assert told["broken"]["usd"] > 0, "what was paid counts, whatever became of the check"
    assert not told["host"]["solved"], "the program reaches nothing of this machine"


PROGRAMS = {
    "yes": "return '42' in answer and files == {}",
    "no": "return {'solved': '43' in answer, 'why': 'not 43'}",
    "broken": "return 1 / 0",
    "host": "return __import__('os').path.exists(HERE)",
}


def build_of(shown: str) -> str:
    return next(line.split()[-1] for line in shown.splitlines() if "builds show" in line)
