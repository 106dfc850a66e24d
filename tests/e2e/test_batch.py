"""`alita batch`: every task is done once, whatever ends the process, and the budget is never overrun."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import build, call, run, tool
from tests.e2e.test_servers import told
from tests.e2e.walks import accepting
from tests.support.servers.wire import ModelServer

pytestmark = pytest.mark.podman
DOUBLE = tool(
    "double",
    'def run(x: int) -> int:\n    """Return twice x."""\n    return 2 * x\n',
    "from double import run\n\n\ndef test_it():\n    assert run(2) == 4\n    assert run(-1) == -2\n    assert run(0) == 0\n",
    {"x": {"type": "integer"}},
    {"type": "integer"},
)


def answers(*names: str, **more: tuple[ScriptReply, ...]) -> Script:
    """A model that answers each task by its name, after `find_tool`; `more` are replies to other tasks."""
    rules = [
        Rule(
            role="orchestrator", match=f"TASK: {name}\\b",
            replies=(call("find_tool", query=name), *[call("answer", text=f"done with {name}")] * 3),
        )
        for name in names
    ]  # fmt: skip
    rules += [
        Rule(role="orchestrator", match=f"TASK: {name}\\b", replies=told) for name, told in more.items()
    ]
    return Script(format="alita-script/1", name="batch", rules=(*rules, DOUBLE))


def tasks(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def results(folder: Path) -> dict[int, Any]:
    lines = (folder / "results.jsonl").read_text().splitlines()
    found = {one["row"]: one["result"] for one in map(json.loads, lines)}
    assert len(found) == len(lines), "each task has one result"
    return found


def submitted(shell: Any) -> int:
    """How many tasks were handed to the agent in all sessions of the home."""
    count = 0
    for one in json.loads(shell("sessions", "list", "--json").stdout):
        count += sum(event["kind"] == "task_submitted" for event in shell.events(one["session_id"]))
    return count


@pytest.mark.walk
def test_answers_failures_and_waiting_tasks_are_recorded_and_the_same_command_continues(
    shell: Any, provider: str, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("hello")
    path = tasks(
        tmp_path / "tasks.jsonl",
        {"task": "alpha", "id": "a", "files": ["note.txt"]},
        {"task": "builds it"},
        {"task": " "},
        "no json",
        {"task": "beta", "files": ["gone.txt"]},
        {"task": "gamma\u202e\x1b[31m"},
    )
    needs = (
        call("find_tool", query="double"), build("double", "Double a number."), run("double", x=21),
        call("answer", text="42"),
    )  # fmt: skip
    with SERVERS[provider][0](answers("alpha", "beta", "gamma", builds=needs)) as server:
        told(shell, server, provider)
        words = ("batch", str(path), "--output", str(tmp_path / "out"))
        done = shell(*words)
        assert done.returncode == 1, done.stderr
        assert "2 tasks answered" in done.stdout and "3 tasks failed" in done.stderr
        assert "waits: row 2" in done.stderr and f"--home {shell.home} batch {path}" in done.stderr
        found = results(tmp_path / "out")
        assert {row: one["answer"] for row, one in found.items()} == {
            1: "done with alpha",
            6: "done with gamma",
        }
        assert found[1]["task"]["id"] == "a"
        failed = [json.loads(line) for line in (tmp_path / "out" / "failed.jsonl").read_text().splitlines()]
        assert [(one["row"], one["reason"][:20]) for one in failed] == [
            (3, "It has no task: a te"), (4, "The line is not JSON"), (5, "There is no file gon"),
        ]  # fmt: skip
        (waiting,) = json.loads(shell("builds", "list", "--json").stdout)
        shown = json.loads(shell("builds", "show", waiting["approval_id"], "--json").stdout)
        kind = {**shown["build"], "accept": shown["accept"]}
        approved = shell(
            "builds", "approve", kind["approval_id"], "--digest", kind["digest"], *accepting(kind)
        )
        assert approved.returncode == 0, approved.stderr
        before = submitted(shell)
        again = shell(*words, "--json")
        said = json.loads(again.stdout)
        assert (said["answered"], said["failed"], said["waiting"]) == (3, 3, [])
        assert results(tmp_path / "out")[2]["answer"] == "42"
        assert submitted(shell) == before, "nothing is asked again; what waited is taken up where it was"
        calls = len(server.requests)
        assert shell(*words).returncode == 1 and len(server.requests) == calls, "nothing is left to do"
    other = tasks(tmp_path / "other.jsonl", {"task": "alpha"})
    refused = shell("batch", str(other), "--output", str(tmp_path / "out"))
    assert refused.returncode == 2 and "another input" in refused.stderr


@pytest.mark.walk
def test_a_killed_batch_continues_and_no_task_is_done_or_paid_twice(
    shell: Any, provider: str, tmp_path: Path
) -> None:
    names = [f"task{n}x" for n in range(8)]
    path = tasks(tmp_path / "tasks.jsonl", *({"task": name} for name in names))
    output = tmp_path / "out"
    words = ("batch", str(path), "--output", str(output), "--jobs", "2")
    with SERVERS[provider][0](answers(*names)) as server:
        told(shell, server, provider)
        for _ in range(2):
            killed_while_it_works(shell, words, server)
        done = shell(*words, "--json")
        assert done.returncode == 0, (done.stderr, (output / "failed.jsonl").read_text())
        said = json.loads(done.stdout)
    assert said["answered"] == 8
    found = results(output)
    assert {row: one["answer"] for row, one in found.items()} == {
        n + 1: f"done with {name}" for n, name in enumerate(names)
    }
    listed = json.loads(shell("sessions", "list", "--json").stdout)
    events = [event for one in listed for event in shell.events(one["session_id"])]
    texts = [
        event["text"] for event in events if event["kind"] == "task_submitted" and not event.get("again")
    ]
    assert sorted(texts) == sorted(names), "each task was handed over once"
    assert len(server.requests) <= 2 * len(names) + 2 * 2, "only a call that was on its way is made again"
    assert said["usd"] > 0


def killed_while_it_works(shell: Any, words: tuple[str, ...], server: ModelServer) -> None:
    """Kill -9 the batch once the model was asked a few times more."""
    before = len(server.requests)
    command = [sys.executable, "-m", "alita_tui", *words]
    with subprocess.Popen(
        command,
        env=shell.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        until = time.monotonic() + 100
        while len(server.requests) < before + 3 and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert process.poll() is None, process.stderr and process.stderr.read()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_batch_never_exceeds_its_budget_and_continues_with_a_larger_one(
    shell: Any, provider: str, tmp_path: Path
) -> None:
    names = [f"task{n}x" for n in range(4)]
    path = tasks(tmp_path / "tasks.jsonl", *({"task": name} for name in names))
    words = ("batch", str(path), "--output", str(tmp_path / "out"), "--jobs", "4", "--json")
    with SERVERS[provider][0](answers(*names)) as server:
        told(shell, server, provider)
        none = shell(*words, "--budget-usd", "0")
        assert none.returncode == 3 and json.loads(none.stdout)["unpaid"] == 4 and not server.requests
        whole = json.loads(shell(*words, "--budget-usd", "0.2").stdout)
        assert 0 < whole["usd"] <= 0.2
        done = shell(*words)
        assert done.returncode == 0 and json.loads(done.stdout)["answered"] == 4, done.stderr


def test_a_table_gives_its_tasks_one_file_or_several(shell: Any, provider: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hi")
    (tmp_path / "no, te.txt").write_text("hello")
    (tmp_path / "rows.csv").write_text(
        'task,id,files\nalpha,1,note.txt\nbeta,2,"[""note.txt"", ""no, te.txt""]"\ngamma,3,"no, te.txt"\nalpha,4,\nbeta,5,gone.txt\n'
    )
    with SERVERS[provider][0](answers("alpha", "beta", "gamma")) as server:
        told(shell, server, provider)
        done = shell("batch", str(tmp_path / "rows.csv"), "--output", str(tmp_path / "table"))
    assert (
        "4 tasks answered" in done.stdout
        and "There is no file gone.txt" in (tmp_path / "table" / "failed.jsonl").read_text()
    )
    for row, names in {1: {"note.txt"}, 2: {"note.txt", "no, te.txt"}, 3: {"no, te.txt"}, 4: set()}.items():
        session = results(tmp_path / "table")[row]["session"]
        listed = json.loads(shell("artefacts", "list", "--session", session, "--json").stdout)
        assert {one["name"] for one in listed} == names


def test_a_batch_stopped_by_a_cap_continues_with_the_printed_command(
    shell: Any, provider: str, tmp_path: Path
) -> None:
    names = [f"task{n}x" for n in range(2)]
    path, out = tasks(tmp_path / "tasks.jsonl", *({"task": name} for name in names)), tmp_path / "out"
    with SERVERS[provider][0](answers(*names)) as server:
        told(shell, server, provider)
        assert shell("config", "set", "budget.day_usd", "0.01").returncode == 0
        day = shell("batch", str(path), "--output", str(out), "--jobs", "1")
        assert day.returncode == 3, day.stderr
        assert "2 tasks not done within the budget: The next call could take $" in day.stderr
        assert not server.requests and not (out / "failed.jsonl").exists()
        assert shell("config", "set", "budget.day_usd", "5").returncode == 0
        short = shell("batch", str(path), "--output", str(out), "--jobs", "1", "--budget-usd", "0.001")
        assert short.returncode == 3 and "The next call could take $" in short.stderr, "not: it is spent"
        elsewhere = {name: value for name, value in shell.environ.items() if name != "ALITA_HOME"}
        goes_on = shlex.split(day.stderr.rpartition("go on: ")[2])
        done = subprocess.run(goes_on, env=elsewhere, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (goes_on, done.stderr)
        assert {one["answer"] for one in results(out).values()} == {f"done with {name}" for name in names}
