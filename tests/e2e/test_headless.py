"""The walk through without a screen: park, look, approve by digest, resume, reuse."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from alita_tui.app.context import AppContext, close_all
from alita_tui.config.paths import shipped
from tests.e2e.walks import CHART, DICE, REUSE, STARTER, accepting, parked
from tests.statistics.simulated import envelopes

pytestmark = pytest.mark.podman


def kinds(events: list[dict[str, object]]) -> list[object]:
    return [event["kind"] for event in events]


def test_the_demo_parks_is_approved_resumed_and_replayed_without_a_console(shell) -> None:
    demo = shell("demo", "--json")
    assert demo.returncode == 4, demo.stderr
    stream = [json.loads(line) for line in demo.stdout.splitlines()]
    durable = [one for one in stream if one["seq"]]
    assert [one["seq"] for one in durable] == list(range(1, len(durable) + 1))
    assert {"model_delta", "output_chunk"} & {one["event"]["kind"] for one in stream if not one["seq"]}
    tested = [one["event"] for one in durable if one["event"]["kind"] == "build_tested"]
    assert [test["passed"] for test in tested] == [False, True], "the first draft fails, the repair passes"

    build = parked(shell)
    shown = shell("builds", "show", build["approval_id"])
    assert build["digest"] in shown.stdout
    assert "def run(addresses" in shown.stdout
    assert "email-validator" in shown.stdout

    wrong = shell("builds", "approve", build["approval_id"], "--digest", "0" * 12, *accepting(build))
    assert wrong.returncode == 2
    short = shell(
        "builds", "approve", build["approval_id"], "--digest", build["digest"][:63], *accepting(build)
    )
    assert short.returncode == 2
    assert shell("resume").returncode == 4, "it still waits"
    good = shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
    assert good.returncode == 0, good.stderr
    again = shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
    assert again.returncode == 2, "it is decided already"

    resumed = shell("resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "validate_email_addresses is in the library" in resumed.stdout
    assert kinds(shell.events()).count("approval_requested") == 1

    reuse = shell("run", "--model", "demo:recorded", REUSE)
    assert reuse.returncode == 0, reuse.stderr
    second = shell.events()
    assert "tool_returned" in kinds(second)
    assert "build_started" not in kinds(second), "the tool is found again, none is built"
    returned = next(event for event in second if event["kind"] == "tool_returned")
    valid = [entry["valid"] for entry in returned["report"]["result"]["results"]]
    assert valid == [True, False, False, True]

    for session in json.loads(shell("sessions", "list", "--json").stdout):
        assert shell("sessions", "verify", session["session_id"]).returncode == 0
    ran = shell("tools", "run", "validate_email_addresses", "--input", '{"addresses": ["no"]}')
    assert json.loads(ran.stdout)["results"][0]["valid"] is False


@pytest.mark.walk
def test_a_rejection_ends_in_its_own_exit_code(shell) -> None:
    assert shell("demo", "--json", DICE).returncode == 4
    build = parked(shell)
    rejected = shell("builds", "reject", build["build_id"], "--reason", "no dice in this house")
    assert rejected.returncode == 0, rejected.stderr
    assert shell("resume").returncode == 5
    events = shell.events()
    assert "tool_registered" not in kinds(events)
    verdict = next(event["verdict"] for event in events if event["kind"] == "approval_resolved")
    assert verdict["reason"] == "no dice in this house"
    finished = next(event for event in reversed(events) if event["kind"] == "task_finished")
    assert "there is no such tool" in finished["answer"], "the recording heard of it"
    assert json.loads(shell("tools", "list", "--json").stdout) == []


def test_the_recording_says_so_when_the_library_lacks_the_tool(shell) -> None:
    assert shell("run", "--model", "demo:recorded", REUSE).returncode == 0
    finished = next(event for event in shell.events() if event["kind"] == "task_finished")
    assert "no tool for this in the library" in finished["answer"]


@pytest.mark.walk
def test_a_removed_approval_is_reported(shell) -> None:
    shell("demo", "--json", DICE)
    build = parked(shell)
    shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
    assert shell("resume").returncode == 0
    (path,) = (shell.home / "data" / "sessions").glob("*.json")
    file = json.loads(path.read_text())
    events = file["events"]
    gone = next(n for n, one in events.items() if one["event"]["kind"] == "approval_resolved")
    kept = [one for n, one in sorted(events.items(), key=lambda item: int(item[0])) if n != gone]
    file["events"] = {str(n): {**one, "seq": n} for n, one in enumerate(kept, 1)}
    path.write_text(json.dumps(file))
    verified = shell("sessions", "verify")
    assert verified.returncode == 1
    assert "register what was approved" in verified.stdout


def test_a_task_from_standard_input(shell) -> None:
    done = shell("run", "-", "--model", "demo:recorded", stdin="What is the meaning of life?\n")
    assert done.returncode == 0, done.stderr
    assert "recorded demo model" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "-"), 2, "no task"),
        (("resume", "nope"), 2, "nope"),
        (("builds", "show", "nope"), 2, "nope"),
        (("tools", "show", "nope"), 1, "nope"),
        (("tools", "run", "x", "--input", "{"), 2, "JSON"),
        (("run", "hello", "--model", "nobody:x"), 2, "nobody"),
        (("run", "hello", "--model", "openai:gpt"), 2, "key"),
        (("config", "set", "budget.max_stepz", "3"), 2, "max_steps"),
        (("frobnicate",), 2, "frobnicate"),
        ((), 2, "terminal"),
        (("replay",), 2, "terminal"),
    ],
)
def test_wrong_usage_is_explained(shell, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = shell(*arguments, stdin="")
    assert done.returncode == code, done.stderr
    assert said in done.stderr


def test_quick_commands_import_neither_textual_nor_an_sdk(shell) -> None:
    probe = (
        "import sys, runpy\n"
        "sys.argv = ['alita', *sys.argv[1:]]\n"
        "try:\n    runpy.run_module('alita_tui', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'textual', 'anthropic', 'openai', 'podman', 'mcp', 'httpx', 'keyring', 'bandit'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    for arguments in (["--version"], ["--help"], ["sessions", "list"], ["tools", "list"], ["config"]):
        done = subprocess.run(
            [sys.executable, "-c", probe, *arguments],
            env=shell.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        # What the library says is held against the signed log, whose key the keyring may have.
        allowed = "['keyring']" if arguments == ["tools", "list"] else "[]"
        assert f"HEAVY {allowed}" in done.stdout, (arguments, done.stdout[-300:], done.stderr)


@pytest.mark.walk
def test_the_demo_s_table_becomes_a_chart(shell, tmp_path) -> None:
    """What the recorded model knows of files: its table comes with the task, and no figure is without a source."""
    shell.environ["ALITA_MODEL"] = "demo:recorded"
    assert shell("run", CHART).returncode == 4
    build = parked(shell)
    assert accepting(build) == []
    done = shell("builds", "approve", build["approval_id"], "--digest", build["digest"])
    assert done.returncode == 0, done.stderr
    done = shell("resume")
    assert done.returncode == 0 and "chart.svg" in done.stdout, done.stderr
    saved = shell("artefacts", "save", "chart.svg", "--out", str(tmp_path / "out"))
    chart = (tmp_path / "out" / "chart.svg").read_text()
    assert saved.returncode == 0 and chart.count("<rect") == 4 and ">1284.1</text>" in chart
    (ended,) = [event for event in shell.events() if event["kind"] == "task_finished"][-1:]
    assert ended["outcome"] == "answered" and "ungrounded" not in ended
    tasks = json.loads((shipped("sessions") / "demo.script.json").read_text())["files"]
    assert tasks == {CHART: "demo-sales.csv"}


def test_the_demo_uses_a_starter_once_it_is_approved(shell) -> None:
    shell.environ["ALITA_MODEL"] = "demo:recorded"
    before = shell("run", STARTER)
    assert before.returncode == 0 and "alita tools starters approve chart" in before.stdout, before.stderr
    digest = json.loads(shell("tools", "starters", "show", "chart", "--json").stdout)["digest"]
    approved = shell("tools", "starters", "approve", "chart", "--digest", digest)
    assert approved.returncode == 0, approved.stderr
    after = shell("run", STARTER)
    assert after.returncode == 0 and "chart.svg" in after.stdout, after.stderr
    events = shell.events()
    assert [event["name"] for event in events if event["kind"] == "tool_called"] == ["chart"]
    assert "approval_requested" not in kinds(events)


@pytest.mark.walk
def test_a_recorded_task_may_be_given_again(shell) -> None:
    """What the first time is remembered by has plans compared, which the recording has nothing to say to."""
    shell.environ["ALITA_MODEL"] = "demo:recorded"
    assert shell("run", CHART).returncode == 4
    build = parked(shell)
    shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
    assert shell("resume").returncode == 0
    again = shell("run", CHART)
    assert again.returncode == 4, again.stdout
    assert {"plans_weighed", "approval_requested"} <= set(kinds(shell.events()))
    assert "provider_changed" not in kinds(shell.events()), "the recording is still asked"


def test_a_task_is_estimated_from_the_sessions_before_it(shell) -> None:
    app = AppContext.open(shell.home)
    for number in range(3):
        start = datetime.now(UTC) - timedelta(days=number + 1)
        app.sessions.add(f"s{number}", envelopes(f"s{number}", start, tasks=5))
    close_all()
    shell("run", "--model", "demo:recorded", "Chart the rainfall of Oslo as bars")
    found = kinds(shell.events())
    assert found.index("task_submitted") < found.index("task_estimated") < found.index("task_finished")
