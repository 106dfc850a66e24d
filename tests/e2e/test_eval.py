"""Builds in an evaluation: a person who decides, and digests that were approved before."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from alita_tui.app.context import DEMO_SCRIPT, AppContext
from alita_tui.app.evaluation import views
from alita_tui.config.paths import shipped
from alita_tui.console.evaluations.ports import CaseLine
from alita_tui.llm.scripted import Rule as ScriptRule
from tests.app.evaluation.suites import MIND, settle, suite
from tests.cli.scripted_runs import act
from tests.e2e.over_wire import SCRIPT
from tests.e2e.test_plain import MENU, TO_APPROVE
from tests.e2e.test_terminal import Terminal
from tests.e2e.walks import BUILD, accepting, parked
from tests.support.servers.openai_server import OpenAIServer

pytestmark = [pytest.mark.podman, pytest.mark.walk]


def test_the_policy_known_approves_only_tools_approved_before(shell, tmp_path: Path) -> None:
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


ASKING = ScriptRule(
    role="orchestrator", match="TASK: Ask", replies=(act("ask_user", question="Which of the two?"),)
)
SUMS = structs.replace(MIND.rules[1], match="TASK: Add")
MIXED = structs.replace(SCRIPT, rules=(ASKING, SUMS, *SCRIPT.rules))


@pytest.fixture
def mind(shell: Any) -> Iterator[OpenAIServer]:
    with OpenAIServer(MIXED) as server:
        settle(shell.home, server)
        yield server


def mixed(folder: Path) -> Path:
    """A case that builds a tool, some that need none, and one that ends with a question."""
    sums: list[Any] = [
        {"id": f"sum-{n}", "task": f"Add {n}.", "check": {"kind": "number", "value": 42}} for n in range(3)
    ]
    asks = {"id": "asks", "task": "Ask me.", "check": {"kind": "exact", "text": "this one"}}
    mail = {"id": "mail", "task": BUILD, "check": {"kind": "contains", "texts": ["valid"]}}
    return suite(folder, mail, *sums, asks)


def reads(path: Path, pattern: str, process: subprocess.Popen[Any]) -> re.Match[str]:
    """Wait until a file says it."""
    while True:
        ended = process.poll() is not None
        if found := re.search(pattern, path.read_text()):
            return found
        assert not ended, path.read_text()
        time.sleep(0.05)


def test_other_cases_run_while_one_waits_for_a_verdict(
    shell: Any, tmp_path: Path, mind: OpenAIServer
) -> None:
    told, out = tmp_path / "told", tmp_path / "out"
    words = ("eval", "run", str(mixed(tmp_path / "s")), "--approve", "person", "--wait", "--json")
    with told.open("w") as stderr, out.open("w") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-m", "alita_tui", *words],
            env=shell.environ, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
        )  # fmt: skip
    asks = reads(
        told, r"mail \(.*\) waits: your decision on \w+ v1: alita --home (\S+) builds show (\S+)", process
    )
    reads(told, r"4/5 ", process)
    assert "mail" not in json.dumps([line for line in told.read_text().splitlines() if "/5 " in line])
    question = next(line for line in told.read_text().splitlines() if "asks (" in line)
    assert "asked the person, and nobody was there: “Which of the two?”" in question
    shown = shell("eval", "show", "last").stdout
    assert "the run continues in another process" in shown and f"builds show {asks[2]}" in shown
    (line,) = [line for line in lines_of(shell.home) if line.case == "mail"]
    assert (
        line.state == "waiting"
        and "your decision on" in line.why
        and line.command == (f"alita --home {asks[1]} builds show {asks[2]}")
    )
    build = json.loads(shell("--home", asks[1], "builds", "show", asks[2], "--json").stdout)
    names = [word for name in build["accept"] for word in ("--accept", name)]
    digest = build["build"]["digest"]
    left = shell("--home", asks[1], "builds", "approve", asks[2], "--digest", digest, *names)
    assert left.returncode == 0, left.stderr
    assert process.wait(280) == 0, told.read_text()
    cases = {case["case"]: case for case in json.loads(out.read_text())["cases"]}
    assert cases["mail"]["solved"] and cases["mail"]["outcome"] == "answered"
    assert cases["asks"]["failure"] == "question" and "Which of the two?" in cases["asks"]["why"]
    assert told.read_text().count("waits: ") == 1, "it is told once"


def test_a_run_waits_for_a_session_that_its_person_has_open_in_a_console(
    shell: Any, tmp_path: Path, mind: OpenAIServer
) -> None:
    words = ("eval", "run", str(mixed(tmp_path / "s")), "--approve", "person")
    began = shell(*words)
    assert began.returncode == 4, began.stderr
    (line,) = [line for line in lines_of(shell.home) if line.case == "mail"]
    environ = {**shell.environ, "ACCESSIBLE": "1"}
    console = Terminal(environ, "--home", line.home, "--session", line.session_id)
    console.wait(rb"waits for your decision: [^\r]*\r")
    told = tmp_path / "told"
    with told.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "alita_tui", "eval", "run", "--resume", "last"],
            env=shell.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
        )  # fmt: skip
    reads(told, r"mail \(.*\) waits: its session is open in a console", process)
    (line,) = [line for line in lines_of(shell.home) if line.case == "mail"]
    assert line.state == "waiting" and "open in a console" in line.why
    console.type(b"/review\r", until=MENU)
    console.quiet(0.6)
    console.type(b"5\r", until=TO_APPROVE)
    wanted = re.search(TO_APPROVE, console.said)
    assert wanted
    console.quiet(0.6)
    console.type(wanted[1] + b"\r", until=rb"# .*valid")
    assert process.poll() is None, told.read_text()
    console.type(b"/quit\r", until=rb"To come back")
    assert console.end() == 0
    assert process.wait(280) == 0, told.read_text()
    cases = json.loads(shell("eval", "show", "last", "--json").stdout)["cases"]
    (mail,) = [case for case in cases if case["case"] == "mail"]
    assert mail["solved"] and mail["failure"] == ""


def lines_of(home: Path) -> tuple[CaseLine, ...]:
    """The newest run's cases as the console lists them."""
    app = AppContext.open(home)
    try:
        return views.run_sheet(app, views.run_lines(app)[0].run).cases
    finally:
        app.close()
