"""Processes of checks: none is left after Ctrl+C or a kill of the run, whether it waits, computes, or is in the sandbox."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from alita_tui.llm.scripted import Rule, Script
from tests.app.evaluation.suites import command, settle, suite
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault

SLOW = Script(
    format="alita-script/1",
    name="slow",
    rules=(Rule(role="orchestrator", match="TASK: ", replies=(act("answer", text="a" * 60 + "!"),)),),
)
CHECKS = {
    "waits": {"kind": "pattern", "regex": "a"},
    "computes": {"kind": "pattern", "regex": "^(a+)+$"},
    "schema": {"kind": "schema", "schema": {"type": "string", "pattern": "^(a+)+$"}},
}
FILTER = "alita_tui.confined.answers"
SECONDS = 5.0
"""Less than the processor time after which such a process ends by itself."""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(SLOW) as one:
        yield one


def table() -> dict[int, tuple[int, str, str]]:
    """Every process: its parent, when it began, its command line."""
    listed = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if fields[0] != "Z":
                listed[int(folder.name)] = int(fields[1]), fields[19], line
    return listed


def below(pid: int) -> dict[int, str]:
    """The processes that one has started, and these in turn, with when each began."""
    known, listed = {pid}, table()
    while more := {child for child, (parent, *_) in listed.items() if parent in known} - known:
        known |= more
    return {child: listed[child][1] for child in known - {pid}}


def left(processes: dict[int, str]) -> list[str]:
    listed = table()
    return [listed[pid][2] for pid, began in processes.items() if pid in listed and listed[pid][1] == began]


def until(holds: Callable[[], object], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def used(pid: int) -> float:
    """Seconds of processor time that a process took."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@pytest.mark.walk
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("what", CHECKS)
def test_a_killed_evaluation_leaves_no_checker_process(
    tmp_path: Path, server: OpenAIServer, what: str, how: signal.Signals
) -> None:
    settle(tmp_path / "home", server)
    check = CHECKS[what]
    folder = suite(tmp_path / "s", {"id": "one", "task": "Say a.", "check": check})
    if what == "waits":
        server.plan(Fault(then="stall"))
    if what == "schema":
        server.plan(Fault(script=act("answer", text='"' + "a" * 60 + '!"')))
    run = subprocess.Popen(
        command(tmp_path / "home", "run", str(folder)),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def checkers() -> dict[int, str]:
        listed = table()
        return {
            pid: began for pid, began in below(run.pid).items() if FILTER in listed.get(pid, ("", "", ""))[2]
        }

    until(checkers)
    if what == "waits":
        until(lambda: server.requests)
    else:  # past its start, which takes a second at most
        until(lambda: any(used(pid) > 1.5 for pid in checkers()))
    started = below(run.pid)
    assert checkers()
    run.send_signal(how)
    run.wait(60)
    until(lambda: not left(started), SECONDS)


@pytest.mark.walk
@pytest.mark.podman
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_checker_program_is_left_in_the_sandbox(
    tmp_path: Path, server: OpenAIServer, how: signal.Signals
) -> None:
    settle(tmp_path / "home", server)
    mark = f"{time.time_ns()}"
    folder = suite(
        tmp_path / "s", {"id": "one", "task": "Say a.", "check": {"kind": "program", "program": "p.py"}}
    )
    (folder / "p.py").write_text(
        "import subprocess\n\n\ndef run(answer: str, files: dict) -> bool:\n"
        f"    subprocess.run(['sleep', '{mark}'])\n    return True\n"
    )
    run = subprocess.Popen(
        command(tmp_path / "home", "run", str(folder)),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def inside() -> list[str]:
        return [line for *_, line in table().values() if line.startswith(f"sleep {mark}")]

    until(lambda: inside() or run.poll() is not None)
    assert inside(), "the program runs"
    run.send_signal(how)
    run.wait(60)
    until(lambda: not inside(), 60)
