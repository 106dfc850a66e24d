"""`alita replay --headless` and `--rerun`: a recorded session as a regression test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alita_tui import __version__
from alita_tui.store.sessions import SessionStore
from tests.cli.scripted_runs import SCRIPT, settle
from tests.support.goldens import FOLDER, golden, waiting
from tests.support.rewriting import rewrite
from tests.support.servers.openai_server import OpenAIServer


@pytest.fixture
def servers() -> Iterator[tuple[OpenAIServer, OpenAIServer]]:
    with OpenAIServer(SCRIPT) as one, OpenAIServer(SCRIPT) as two:
        yield one, two


def alita(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "alita_tui", "--home", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)


def test_the_state_at_the_close_comes_out_again(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer]
) -> None:
    home = tmp_path / "home"
    settle(home, servers)
    assert alita(home, "run", "TASK: find a thing").returncode == 0
    done = alita(home, "replay", "--headless", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (closing,) = found["folded"]["closings"]
    assert closing["recorded"] == closing["folded"] == found["folded"]["state"]
    said = alita(home, "replay", "--headless")
    assert said.stdout.strip() == closing["recorded"]
    assert "as recorded" in said.stderr
    (path,) = (home / "data" / "sessions").glob("*.json")
    assert "there is none" in path.read_text()
    rewrite(path, b"there is none", b"there is one")
    changed = alita(home, "replay", "--headless")
    assert changed.returncode == 1
    assert changed.stdout.strip() != closing["recorded"]
    assert "recorded as" in changed.stderr
    rewrite(path, f'"version":"{__version__}"'.encode(), b'"version":"0.0.1"')
    other = alita(home, "replay", "--headless")
    assert other.returncode == 0 and "recorded by alita 0.0.1" in other.stderr


@pytest.mark.podman
def test_a_recording_runs_again_in_the_sandbox(tmp_path: Path) -> None:
    whole = (FOLDER / "golden-repaired.json").read_text()
    done = alita(tmp_path / "home", "replay", str(FOLDER / "golden-repaired.json"), "--rerun", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["differ"] == found.get("skipped", 0) == 0
    assert [one["what"] for one in found["reruns"]].count("tests") == 3
    tampered = tmp_path / "tampered.json"
    tampered.write_text(
        whole.replace('"name":"test_it_answers","passed":true', '"name":"test_it_answers","passed":false')
    )
    assert tampered.read_text() != whole
    done = alita(tmp_path / "home", "replay", str(tampered), "--rerun")
    assert done.returncode == 1
    assert "test_it_answers: failed → passed" in done.stdout


@pytest.mark.podman
def test_a_changed_result_reply_or_library_is_reported(tmp_path: Path) -> None:
    """Of a session that a call was made in: its result, what the model said, and whether the tool is there."""
    home, source = tmp_path / "home", FOLDER / "golden-walkthrough.json"
    whole = source.read_text()

    def differing(text: str) -> list[dict[str, Any]]:
        (tmp_path / "changed.json").write_text(text)
        done = alita(home, "replay", str(tmp_path / "changed.json"), "--headless", "--rerun", "--json")
        found = json.loads(done.stdout)
        assert found["folded"] and done.returncode == bool(found["differ"] or not found["same"])
        return [one for one in found["reruns"] if one["outcome"] == "differs"]

    assert differing(whole) == []
    (result,) = differing(whole.replace("cannot have two periods in a row", "has two dots"))
    assert result["what"] == "call" and "has two dots" in result["differences"][0]
    asked = '"requests":[{"call_id":'
    name = whole[whole.index('"name":"', whole.index(asked)) :].split('"')[3]
    (reply,) = differing(whole.replace(f'"name":"{name}"', '"name":"no_such_action"', 1))
    assert reply["what"] == "reply" and "no valid action" in reply["differences"][0]
    done = alita(home, "replay", str(FOLDER / "golden-reuse-openai.json"), "--rerun")
    assert done.returncode == 1
    assert "the tool: v1 ran → There is no tool validate_email_addresses v1" in done.stdout


@pytest.mark.podman
def test_a_fork_at_a_verdict_can_be_decided_differently(tmp_path: Path) -> None:
    """A fork at the moment when a build waited is decided otherwise, and goes on by itself."""
    home, played = tmp_path / "home", golden("golden-walkthrough")
    source = SessionStore(home / "data" / "sessions").add(played[0].session_id, played)
    fork = json.loads(
        alita(home, "sessions", "fork", source, "--at", str(waiting()[-1].seq), "--json").stdout
    )["session_id"]
    (build,) = json.loads(alita(home, "builds", "list", "--json").stdout)
    assert build["session_id"] == fork
    said = alita(home, "builds", "reject", build["approval_id"], "--reason", "use the standard library")
    assert said.returncode == 0, said.stderr
    assert alita(home, "resume", fork).returncode == 5
    found = json.loads(alita(home, "sessions", "compare", source, fork, "--json").stdout)
    assert found["common"] == waiting()[-1].seq
    assert (found["left"]["outcome"], found["right"]["outcome"]) == ("answered", "rejected")
    assert found["left"]["built"] and not found["right"].get("built")
    differs = next(one for one in found["moves"] if one["kind"] != "same")
    assert differs["left"].startswith("Approved") and "use the standard library" in differs["right"]
    assert alita(home, "sessions", "verify", fork).returncode == 0
    assert alita(home, "replay", fork, "--headless").returncode == 0
