"""Tasks in the background: done without a console, taken up after a kill, on schedule once, and looked on from a console."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from alita_tui.app.background.ledger import Ledger, Schedule, Work
from alita_tui.app.background.schedule import Rhythm
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.llm.scripted import Rule, Script
from tests.cli.scripted_runs import act
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_batch import answers, submitted
from tests.e2e.test_servers import told
from tests.e2e.test_terminal import Terminal
from tests.e2e.walks import accepting

pytestmark = pytest.mark.podman
DEMO = "Create a tool to validate email addresses."


@pytest.fixture
def background(shell: Any) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Backgrounds of the home that the test starts, ended with it, as is one that a command started."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    shell("serve", "--stop")
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def serving(shell: Any, started: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start `alita serve` and wait until it answers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "alita_tui", "serve"],
        env=shell.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    started.append(process)
    until(lambda: status(shell) is not None, lambda: process.poll() is None)
    return process


def status(shell: Any) -> dict[str, Any] | None:
    done = shell("serve", "--status", "--json")
    found: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
    return found


def until(wanted: Any, possible: Any = lambda: True) -> Any:
    limit = time.monotonic() + 120
    while not (found := wanted()):
        assert possible() and time.monotonic() < limit
        time.sleep(0.1)
    return found


def answer_of(shell: Any, session_id: str) -> str:
    """The answer of the newest task of a session, once it has one."""

    def given() -> str:
        ends = [one for one in shell.events(session_id) if one["kind"] == "task_finished"]
        return str(ends[-1].get("answer") or ends[-1]["outcome"]) if ends else ""

    return str(until(given))


def detached(shell: Any, task: str, *more: str) -> dict[str, Any]:
    done = shell("run", "--detach", "--json", task, *more)
    assert done.returncode == 0, done.stderr
    handed: dict[str, Any] = json.loads(done.stdout)
    return handed


def test_a_detached_task_runs_in_one_background_that_only_its_owner_reaches(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "given.txt").write_text("hello")
    with SERVERS[provider][0](answers("alpha", "beta")) as server:
        told(shell, server, provider)
        first = detached(shell, "alpha", "--file", str(tmp_path / "given.txt"))
        (tmp_path / "given.txt").unlink()
        second = detached(shell, "beta")
        assert first["process"] == second["process"], "the second task went to the one that ran"
        assert first["session_id"] != second["session_id"]
        assert answer_of(shell, first["session_id"]) == "done with alpha"
        assert answer_of(shell, second["session_id"]) == "done with beta"
        listed = json.loads(shell("artefacts", "list", "--session", first["session_id"], "--json").stdout)
        assert "given.txt" in str(listed), "the file was taken in before the command returned"
        refused = shell("serve")
        assert refused.returncode == 2 and "runs already" in refused.stderr
        path = AppContext.open(shell.home).paths.background_socket
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        follows = detached(shell, "beta again", "--session", first["session_id"])
        assert follows["session_id"] == first["session_id"]
    stopped = shell("serve", "--stop")
    assert stopped.returncode == 0 and not path.exists()
    assert shell("serve", "--status").returncode == 2
    assert shell("attach", "--json").returncode == 2


def test_a_question_in_the_background_is_answered_from_a_shell(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]]
) -> None:
    asks = (
        act("ask_user", question="Which one?", choices=["red", "blue"]),
        act("answer", text="as you said"),
    )
    script = Script(
        format="alita-script/1",
        name="asks",
        rules=(Rule(role="orchestrator", match="TASK: ", replies=asks),),
    )
    with SERVERS[provider][0](script) as server:
        told(shell, server, provider)
        session = detached(shell, "paint it")["session_id"]
        until(lambda: any(one["kind"] == "question_asked" for one in shell.events(session)))
        answered = shell("answer", session, "2", "--json")
        assert answered.returncode == 0, answered.stderr
        assert json.loads(answered.stdout)["session_id"] == session
        assert answer_of(shell, session) == "as you said"
        assert "blue" in server.messages_of(server.requests[-1].body)[-1].text
        late = shell("answer", session, "1")
        assert late.returncode == 2 and "waits for no answer" in late.stderr


@pytest.mark.walk
def test_work_of_a_killed_background_is_continued_by_the_next_and_done_once(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]]
) -> None:
    names = [f"task{n}x" for n in range(4)]
    with SERVERS[provider][0](answers(*names)) as server:
        told(shell, server, provider)
        process = serving(shell, background)
        sessions = [detached(shell, name)["session_id"] for name in names]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        serving(shell, background)
        assert [answer_of(shell, one) for one in sessions] == [f"done with {name}" for name in names]
        until(lambda: status(shell)["sessions"] == [])  # type: ignore[index]
    events = [event for one in sessions for event in shell.events(one) if event["kind"] == "task_submitted"]
    fresh = [event["text"] for event in events if not event.get("again")]
    assert sorted(fresh) == sorted(names), "each was begun once"
    calls_cut_off = 4
    assert len(server.requests) <= 2 * len(names) + calls_cut_off
    app = AppContext.open(shell.home)
    assert Ledger(app).work() == ()
    app.close()


@pytest.mark.walk
def test_a_repeated_task_that_was_missed_is_done_once_and_listed_paused_and_cancelled_like_others(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]]
) -> None:
    with SERVERS[provider][0](answers("alpha", "beta")) as server:
        told(shell, server, provider)
        added = shell("tasks", "add", "alpha", "--every", "1d", "--at", "07:00")
        assert added.returncode == 0 and "s1" in added.stdout and "alita serve" in added.stderr, added
        assert shell("tasks", "add", "beta", "--every", "1h").returncode == 0
        assert shell("tasks", "pause", "s2").returncode == 0
        listed = json.loads(shell("tasks", "list", "--json").stdout)["schedules"]
        assert [(one["id"], one["rhythm"], one["paused"]) for one in listed] == [
            ("s1", "every 1d at 07:00", False), ("s2", "every 1h", True),
        ]  # fmt: skip
        long_ago(shell, "s1")
        long_ago(shell, "s2")
        serving(shell, background)
        done = until(
            lambda: json.loads(shell("tasks", "list", "--json").stdout)["schedules"][0]["session_id"]
        )
        assert answer_of(shell, done) == "done with alpha"
        assert shell("tasks", "resume", "s2").returncode == 0  # what was due meanwhile is not made up for
        assert shell("serve", "--stop").returncode == 0
        serving(shell, background)
        until(lambda: status(shell)["sessions"] == [])  # type: ignore[index]
        assert submitted(shell) == 1, (
            "three were missed, one is made up for, and no other process does it again"
        )
        assert shell("tasks", "cancel", "s1").returncode == 0
        assert "s1" not in shell("tasks", "list").stdout
        unknown = shell("tasks", "pause", "s9")
        assert unknown.returncode == 2 and "no schedule" in unknown.stderr


def long_ago(shell: Any, wanted: str) -> None:
    """Make a schedule three days and a bit older than it is."""
    app = AppContext.open(shell.home)
    ledger = Ledger(app)
    known = ledger.schedule(wanted)
    ledger.put(
        Schedule(
            id=known.id, text=known.text, rhythm=Rhythm(every=86_400), made=now() - timedelta(days=3, hours=1),
            paused=known.paused, project=known.project,
        )
    )  # fmt: skip
    app.close()


def test_unsigned_tasks_are_not_run(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]]
) -> None:
    """Who can write one file, and cannot read the key, gets no task done by it."""
    with SERVERS[provider][0](answers("alpha")) as server:
        told(shell, server, provider)
        assert detached(shell, "alpha")["process"]
        shell("serve", "--stop")
        app = AppContext.open(shell.home)
        documents = app.documents(app.paths.background, "background")
        begun = (now() - timedelta(days=2)).isoformat()
        forged = {"id": "s1", "text": "alpha", "rhythm": {"every": 60}, "made": begun, "signature": "00"}
        documents.put("schedule:s1", forged)
        documents.put("work:x", {"session_id": "20260101-000000-abcd", "text": "alpha", "signature": "00"})
        documents.put("work:y", {"session_id": 7})
        warned: list[str] = []
        ledger = Ledger(app, warned.append)
        assert [one.session_id for one in ledger.work() if one.text] == [] and ledger.schedules() == ()
        assert len(warned) == 3
        signed = Work(session_id="20260101-000000-abcd", text="alpha")
        ledger.put(signed)
        changed = dict(next(one for one in documents.all() if one.get("session_id") == signed.session_id))
        documents.put("work:z", {**changed, "text": "something else"})
        assert "something else" not in str(ledger.work())
        app.close()


@pytest.mark.skipif(os.getuid() != 0, reason="takes on another account")
def test_another_account_is_not_answered_even_where_files_let_it_in(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]]
) -> None:
    serving(shell, background)
    path = AppContext.open(shell.home).paths.background_socket
    for folder in (path, *path.parents):
        if folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o777 if folder == path else folder.stat().st_mode | 0o005)
    ask = """
import os, socket, struct, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534); os.chdir(sys.argv[1])
link, message = socket.socket(socket.AF_UNIX), b'{"type":"Look"}'
link.connect("background.sock")
try:
    link.sendall(struct.pack(">I", len(message)) + message)
    print(link.recv(9))
except ConnectionError:
    print("closed")
"""
    other = [sys.executable, "-c", ask, str(path.parent)]
    done = subprocess.run(other, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip() in ("closed", "b''"), done
    assert status(shell) is not None


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x05{}{}{",
        b"\0\0\0\x10GET / HTTP/1.1\r\n",
        os.urandom(400),
    ],
)
def test_no_message_to_its_socket_ends_the_background(
    shell: Any, background: list[subprocess.Popen[bytes]], said: bytes
) -> None:
    process = serving(shell, background)
    path = AppContext.open(shell.home).paths.background_socket
    fd = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(f"/proc/self/fd/{fd}/{path.name}")
        link.sendall(said)
        link.shutdown(socket.SHUT_WR)
        assert link.recv(100) == b""
    os.close(fd)
    assert process.poll() is None and status(shell) is not None


@pytest.mark.walk
@pytest.mark.pty
def test_a_console_can_watch_approve_and_leave_while_the_task_continues(
    shell: Any, background: list[subprocess.Popen[bytes]]
) -> None:
    shell.environ["ALITA_MODEL"] = "demo:recorded"
    session_id = detached(shell, DEMO)["session_id"]
    until(lambda: shell("builds", "list", "--json").stdout.strip() not in ("", "[]"))
    assert [one["state"] for one in status(shell)["sessions"]] == ["waiting"]  # type: ignore[index]
    console = Terminal(shell.environ, "attach")
    console.wait(rb"is ready")
    console.process.send_signal(signal.SIGTERM)
    console.end()
    assert [one["session_id"] for one in status(shell)["sessions"]] == [session_id], "it waits on"  # type: ignore[index]
    (waiting,) = json.loads(shell("builds", "list", "--json").stdout)
    shown = json.loads(shell("builds", "show", waiting["approval_id"], "--json").stdout)
    kind = {**shown["build"], "accept": shown["accept"]}
    watching = Terminal(shell.environ, "attach", session_id)
    watching.wait(rb"is ready")
    done = shell("builds", "approve", kind["approval_id"], "--digest", kind["digest"], *accepting(kind))
    assert done.returncode == 0, done.stderr
    watching.wait(rb"was approved|joined|approved")
    assert answer_of(shell, session_id)
    watching.process.send_signal(signal.SIGTERM)
    watching.end()
    until(lambda: status(shell)["sessions"] == [])  # type: ignore[index]


@pytest.mark.walk
@pytest.mark.pty
def test_where_a_console_is_open_a_detached_task_goes_there(
    shell: Any, provider: str, background: list[subprocess.Popen[bytes]]
) -> None:
    with SERVERS[provider][0](answers("alpha")) as server:
        told(shell, server, provider)
        console = Terminal(shell.environ)
        console.wait(rb"sandbox ready")
        handed = detached(shell, "alpha")
        assert handed["process"] == 0
        console.wait(rb"done with alpha")
        console.process.send_signal(signal.SIGTERM)
        console.end()
        assert status(shell) is None, "no background was started"
        assert answer_of(shell, handed["session_id"]) == "done with alpha"
