"""A suite out of what a person liked and corrected: through the shell, and what is secret stays where it was."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.context import AppContext, close_all
from alita_tui.app.evaluation.gathering import Gathered, gather
from alita_tui.app.identity import now
from alita_tui.spine.bus import Bus
from alita_tui.store.sessions import SessionFile
from tests.app.evaluation.suites import MIND, settle
from tests.support.servers.openai_server import OpenAIServer

KEY = "sk-ant-" + "q7Rw2Zt9" * 4


@pytest.mark.walk
def test_liked_and_corrected_answers_become_cases_without_secrets(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {**os.environ, "ANTHROPIC_API_KEY": KEY}

    def alita(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "alita_tui", "--home", str(home), *words],
            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=environ,
        )  # fmt: skip

    (tmp_path / "notes.txt").write_text(f"17 and 25\nkey: {KEY}\n")
    (tmp_path / "dump.bin").write_bytes(b"\xff\xfe" + KEY.encode())
    (tmp_path / f"{KEY}.txt").write_text("17 and 25\n")
    with OpenAIServer(MIND) as server:
        settle(home, server)
        for words in (
            (f"Add with {KEY}.", "--file", str(tmp_path / "notes.txt")),
            ("Add these, wrong.",),
            ("Add the dump.", "--file", str(tmp_path / "dump.bin")),
            ("Add and nobody says anything.",),
            ("Add and it is only wrong.",),
            ("Add what is in there.", "--file", str(tmp_path / f"{KEY}.txt")),
        ):
            assert alita("run", *words).returncode == 0
        told = json.loads(alita("sessions", "list", "--json").stdout)
        ids = sorted(one["session_id"] for one in told)
        liked, wrong, binary, _, only, named = ids
        for session, *said in (
            (liked, "--up"), (wrong, "--should-be", "42"), (binary, "--up"),
            (only, "--down"), (named, "--up"),
        ):  # fmt: skip
            assert alita("feedback", session, *said).returncode == 0
        made = alita("eval", "from-sessions", str(tmp_path / "mine"))
        assert made.returncode == 0, made.stderr
        folder = tmp_path / "mine"
        cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
        assert [case["tags"] for case in cases] == [["liked"], ["corrected"], ["liked"]]
        assert cases[0]["check"] == {"kind": "contains", "texts": ["It is 42"]}
        assert cases[1]["check"]["kind"] == "number" and cases[1]["check"]["value"] == 42
        (given,) = cases[0]["files"]
        assert "17 and 25" in (folder / given).read_text()
        for path in folder.rglob("*"):
            assert KEY not in path.name
            assert path.is_dir() or KEY not in path.read_text(), f"{path} has the key"
        assert "dump.bin has a secret" in made.stderr and "nobody said what it should be" in made.stderr
        ran = json.loads(alita("eval", "run", str(folder), "--json").stdout)
        assert [one["solved"] for one in ran["cases"]] == [True, False, True], (
            "the mind has not learned anything since"
        )
    assert alita("eval", "from-sessions", str(folder)).returncode == 2, "nothing is written over"
    taken = alita("feedback", wrong, "--undo")
    assert taken.returncode == 0
    assert alita("eval", "from-sessions", str(tmp_path / "less")).returncode == 0
    assert len((tmp_path / "less" / "cases.jsonl").read_text().splitlines()) == 2, (
        "what was taken back is no case"
    )


GITHUB = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"


def record(
    app: AppContext, session_id: str, task: str, answer: str, *ratings: dict[str, str], again: bool = False,
    files: dict[str, bytes] | None = None,
) -> None:  # fmt: skip
    """Record a session with one task that the person rated, as a live session would: what is secret is marked there."""
    file = SessionFile.create(app.sessions.path(session_id), session_id)
    given = [session_artefacts(app, session_id).add_bytes(body, name) for name, body in (files or {}).items()]
    happened: list[e.SessionEvent] = [e.SessionOpened(model="m", recorded=False, version="")]
    happened += [e.ArtefactAdded(artefact=one, origin="person") for one in given]
    handles = tuple(one.handle for one in given)
    happened.append(e.TaskSubmitted(task_id=e.TaskId("t1"), text=task, files=handles))
    if again:
        happened += [
            e.TaskFinished(task_id=e.TaskId("t1"), outcome="parked"),
            e.TaskSubmitted(task_id=e.TaskId("t2"), text=task, files=handles, again=e.TaskId("t1")),
        ]
    ended = e.TaskId("t2" if again else "t1")
    happened.append(e.TaskFinished(task_id=ended, outcome="answered", answer=answer))
    happened += [e.FeedbackGiven(task_id=ended, **rating) for rating in ratings]  # type: ignore[arg-type]
    bus = Bus(session_id, file, now, redactor=app.redactor())

    async def emit() -> None:
        for event in happened:
            await bus.emit(event)

    asyncio.run(emit())
    bus.close()
    file.close()


def gathered(app: AppContext, folder: Path) -> tuple[Gathered, list[dict[str, object]]]:
    made = gather(app, folder)
    path = folder / "cases.jsonl"
    return made, [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppContext]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    (tmp_path / "home").mkdir()
    yield AppContext.open(tmp_path / "home")
    close_all()


@pytest.mark.parametrize("secret", [KEY, GITHUB, base64.b64encode(KEY.encode()).decode(), KEY.encode().hex()])
def test_a_secret_is_neither_an_expected_answer_nor_part_of_a_case(
    person: AppContext, tmp_path: Path, secret: str
) -> None:
    """A case whose answer would have to be `[redacted …]` could never be solved, so it is left out and told."""
    record(person, "s1", f"Say it without {secret}.", "It is 42.", {"rating": "up"})
    record(person, "s2", "Say the key.", "No.", {"rating": "down", "expected": f"The key is {secret}."})
    record(person, "s3", "Say the key again.", f"It is {secret}", {"rating": "up"})
    made, cases = gathered(person, tmp_path / "mine")
    assert [case["id"] for case in cases] == ["s1-t1"] and made.cases == 1
    assert sorted(reason.partition(":")[0] for reason in made.left_out) == ["s2-t1", "s3-t1"]
    written = (tmp_path / "mine" / "cases.jsonl").read_text() + "".join(made.left_out)
    assert secret not in written and KEY not in written and "Say it without [redacted" in written


def test_the_newest_rating_of_a_task_counts_and_another_file_makes_another_task(
    person: AppContext, tmp_path: Path
) -> None:
    record(person, "s1", "How many?", "It is 41.", {"rating": "up"}, files={"a.txt": b"1\n"})
    record(
        person, "s2", "How many?", "It is 41.", {"rating": "down", "expected": "42"}, files={"a.txt": b"1\n"}
    )
    record(
        person, "s3", "How many?", "It is 7.", {"rating": "up"}, files={"a.txt": b"2\n", "b.bin": b"\xff\0"}
    )
    made, cases = gathered(person, tmp_path / "mine")
    assert [case["tags"] for case in cases] == [["corrected"], ["liked"]], made.left_out
    assert cases[0]["files"] != cases[1]["files"] and len(cases[1]["files"]) == 2  # type: ignore[arg-type]
    assert [name.rpartition("/")[2] for name in made.unread] == ["b.bin"], (
        "nobody looked for a secret inside of it"
    )


def test_a_task_that_waited_for_a_build_is_a_case_by_its_last_part(
    person: AppContext, tmp_path: Path
) -> None:
    record(person, "s1", "Double four.", "It is 8.", {"rating": "up"}, again=True)
    _, cases = gathered(person, tmp_path / "mine")
    assert [(case["task"], case["tags"]) for case in cases] == [("Double four.", ["liked"])]


WRITTEN = (
    ("aws_secret_access_key=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("password: ", "hunter2secret"),
    ("MAIL_PASSWORD='", "tr0ub4dor&3"),
    ('"client_secret": "', "QWERTYUIOPASDFGHJKLZ"),
    ("'apiKey': '", "0123456789abcdef0123456789abcdef"),
    ("my mail password is ", "Kittens123"),
    ("smtp://bob@example.com:", "p4ssw0rd!x"),
)
"""What stands before a secret that has no shape of its own, and the secret."""


@pytest.mark.parametrize(("before", "secret"), WRITTEN)
def test_known_secrets_are_removed_from_task_answer_and_file(
    person: AppContext, tmp_path: Path, before: str, secret: str
) -> None:
    text = f"{before}{secret}{'@mail.example' if '://' in before else ''}"
    text += before[-1] if before[-1] in "\"'" else ""
    record(
        person, "s1", f"Use {text}", "It is 42.", {"rating": "up"}, files={"a.txt": f"1\n{text}\n2".encode()}
    )
    record(person, "s2", "Tell.", "No.", {"rating": "down", "expected": text})
    made, cases = gathered(person, tmp_path / "mine")
    assert [case["id"] for case in cases] == ["s1-t1"], made.left_out
    assert "has a secret in it" in made.left_out[0]
    for path in (tmp_path / "mine").rglob("*.*"):
        assert path.is_dir() or secret not in path.read_text(), path.read_text()
        assert path.is_dir() or before in path.read_text().replace('\\"', '"'), "and nothing else"


@pytest.mark.parametrize(
    "text",
    [
        "password = getpass.getpass()", "token = tokens[0]", "max_tokens: 4096", "password: str = ''", "the secret is out",
        "key=value", "token: 17", "api_key = os.environ['API_KEY']", "passwords: 12 of 15", "password is required",
    ],
)  # fmt: skip
def test_text_that_only_mentions_secrets_stays(person: AppContext, tmp_path: Path, text: str) -> None:
    record(person, "s1", f"Explain: {text}", "It is 42.", {"rating": "up"})
    _, (case,) = gathered(person, tmp_path / "mine")
    assert case["task"] == f"Explain: {text}"
