"""Options before a command, questions answered from a shell, and what resume says when there is nothing to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_tui.llm.scripted import Rule, Script
from tests.cli.processes import alita, settle
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault

ASKING = Script(
    format="alita-script/1",
    name="asks",
    rules=(
        Rule(
            role="orchestrator",
            match="TASK: ",
            replies=(
                act("ask_user", question="Which one?", choices=["red", "blue"]),
                act("answer", text="as you said"),
            ),
        ),
    ),
)


def test_a_question_parks_the_task_and_alita_answer_continues_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with OpenAIServer(ASKING) as server:
        settle(home, server)
        asked = alita(home, "--model", "custom:one", "run", "paint it", "--json")
        assert asked.returncode == 4, asked.stderr
        stream = [json.loads(line) for line in asked.stdout.splitlines()]
        opened = next(one["event"] for one in stream if one["event"]["kind"] == "session_opened")
        assert opened["model"] == "custom:one", "an option before the command counts"
        session = stream[0]["session_id"]
        ended = (
            stream[-2]["event"] if stream[-1]["event"]["kind"] == "session_closed" else stream[-1]["event"]
        )
        assert "alita answer" in ended["hint"] and ended["outcome"] == "parked"
        empty = alita(home, "answer", session, " ")
        assert empty.returncode == 2 and "The answer is empty" in empty.stderr
        again = alita(home, "resume", session, "--model", "custom:one")
        assert again.returncode == 4 and f"alita answer {session}" in again.stderr
        done = alita(home, "--model", "custom:one", "answer", session, "2")
        assert done.returncode == 0 and "as you said" in done.stdout, done.stderr
        assert "blue" in [message.text for message in server.messages_of(server.requests[-1].body)][-1]
        late = alita(home, "answer", session, "1")
        assert late.returncode == 2 and "waits for no answer" in late.stderr


@pytest.mark.parametrize("words", [("--model", "a:b", "tools", "list"), ("--session", "x", "config")])
def test_an_option_that_a_command_does_not_take_is_reported(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = alita(tmp_path / "home", *words)
    assert done.returncode == 2 and "has no use for" in done.stderr


def test_resume_after_an_outage_continues_the_task(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with OpenAIServer(ASKING) as server:
        settle(home, server)
        server.plan(Fault(status=402), Fault(status=402))
        failed = alita(home, "run", "paint it", "--model", "custom:one")
        assert failed.returncode == 1
        still = alita(home, "resume", "--model", "custom:one")
        assert still.returncode == 1 and "tried again" in still.stderr
        back = alita(home, "--model", "custom:one", "resume")
        assert back.returncode == 4 and "Which one?" in back.stderr


def test_resume_of_a_session_without_a_task_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with OpenAIServer(ASKING) as server:
        settle(home, server)
        server.plan(Fault(status=402))
        alita(home, "run", "paint it", "--model", "custom:one")
    (path,) = (home / "data" / "sessions").glob("*.json")
    raw = json.loads(path.read_text())
    raw["events"] = {
        key: one for key, one in raw["events"].items() if one["event"]["kind"] in ("session_opened",)
    }
    path.write_text(json.dumps(raw))
    done = alita(home, "resume")
    assert done.returncode == 2 and "could be gone on with" in done.stderr and "alita run" in done.stderr
