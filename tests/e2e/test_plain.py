"""Lines instead of a full screen, in a real terminal: every flow, and no verdict out of what was typed ahead."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

import pytest

from tests.e2e.over_wire import SERVERS
from tests.e2e.test_batch import answers
from tests.e2e.test_jobs import call
from tests.e2e.test_servers import told
from tests.e2e.test_terminal import Terminal

pytestmark = [pytest.mark.podman, pytest.mark.pty, pytest.mark.walk]
DEMO = b"Create a tool to validate email addresses.\r"
MENU = rb"8 decide later: [^\r]*\r\nA number:"
TO_APPROVE = rb"an empty line to go back: ([^\r]+)\r"


def review_and_approve(console: Terminal) -> None:
    """Look at the code of the build that waits, and approve it, as a person types it."""
    console.type(b"/review\r", until=MENU)
    console.quiet(0.6)
    console.type(b"1\r", until=rb"def run")
    console.wait(MENU)
    console.quiet(0.6)
    console.type(b"5\r", until=TO_APPROVE)
    to_type = re.search(TO_APPROVE, console.said)
    assert to_type
    console.quiet(0.6)
    console.type(to_type[1] + b"\r", until=rb"The verdict is recorded")
    console.wait(rb"# .*valid")


def verdicts(shell: Any) -> list[Any]:
    listed = json.loads(shell("sessions", "list", "--json").stdout)
    events = [event for one in listed for event in shell.events(one["session_id"])]
    return [event["verdict"] for event in events if event["kind"] == "approval_resolved"]


def test_a_build_is_approved_in_typed_steps_and_never_by_text_typed_ahead(
    shell: Any,
) -> None:
    shell.environ |= {"ALITA_MODEL": "demo:recorded", "ACCESSIBLE": "1"}
    console = Terminal(shell.environ)
    console.wait(rb"Type a task")
    everything = b""
    console.type(DEMO, until=rb"/review looks at it")
    name = re.search(rb"(\w+) v1 waits for your decision", console.said)
    assert name
    (waiting,) = json.loads(shell("builds", "list", "--json").stdout)
    shown = json.loads(shell("builds", "show", waiting["approval_id"], "--json").stdout)
    right = " ".join([waiting["name"], *shown["accept"]]).encode()
    # A hurried user, or a paste: all steps at once, and they are the right ones.
    everything += console.said
    console.type(b"/review\r5\r" + right + b"\r5\r", until=MENU)
    console.quiet(1.5)
    assert verdicts(shell) == []
    everything += console.said
    console.type(b"\r", until=MENU)
    console.quiet(0.6)
    console.type(b"1\r", until=rb"def run")
    console.wait(MENU)
    console.quiet(0.6)
    console.type(b"5\r", until=TO_APPROVE)
    wanted = re.search(TO_APPROVE, console.said)
    assert wanted and wanted[1] == right and right.startswith(name[1])
    console.quiet(0.6)
    console.type(b"yes\r", until=rb"Nothing was approved")
    console.wait(MENU)
    assert verdicts(shell) == []
    console.quiet(0.6)
    console.type(b"5\r", until=TO_APPROVE)
    console.quiet(0.6)
    everything += console.said
    console.type(wanted[1] + b"\r", until=rb"The verdict is recorded")
    console.wait(rb"# .*valid")
    everything += console.said
    (verdict,) = verdicts(shell)
    assert verdict["decision"] == "approved" and verdict["accepted"] and verdict["scrolled_to_end"]
    console.type(b"/where\r", until=rb"Nothing is done now")
    console.type(b"/nonsense\r", until=rb"no command /nonsense")
    console.type(
        b"/quit\r", until=rb"To come back to this session: .*alita\S* --home \S+ --plain --session \S+"
    )
    assert console.end() == 0
    everything += console.said
    assert b"\x1b" not in everything, "lines, and nothing that moves a cursor"
    session_id = json.loads(shell("sessions", "list", "--json").stdout)[0]["session_id"]
    replayed = Terminal(shell.environ, "replay", session_id)
    assert replayed.end() == 0
    assert b"Create a tool to validate" in replayed.said and b"\x1b" not in replayed.said


def test_a_question_is_answered_a_task_is_stopped_and_a_build_is_rejected_with_a_reason(
    shell: Any, provider: str
) -> None:
    asks = (
        call("ask_user", question="Which colour?", choices=["red", "blue"]),
        call("answer", text="It is blue."),
    )
    with SERVERS[provider][0](answers("alpha", colours=asks)) as server:
        told(shell, server, provider)
        console = Terminal(shell.environ, "--plain")
        console.wait(rb"Type a task")
        console.type(b"colours\r", until=rb"The next line answers it")
        assert b"1 red" in console.said and b"2 blue" in console.said
        console.type(b"2\r", until=rb"# It is blue")
        console.process.send_signal(signal.SIGINT)
        console.wait(rb"No task runs")
        console.type(b"alpha\r", until=rb"# done with alpha")
        console.type(b"\x04", until=rb"To come back")
        assert console.end() == 0
    events = [one for one in json.loads(shell("sessions", "list", "--json").stdout)]
    asked = [one for one in shell.events(events[0]["session_id"]) if one["kind"] == "question_answered"]
    assert [one["text"] for one in asked] == ["blue"]


def test_plain_mode_without_a_terminal_is_refused(shell: Any) -> None:
    done = shell("--plain", stdin="Create a tool\n5\n")
    assert done.returncode == 2 and "Nobody can type here" in done.stderr
