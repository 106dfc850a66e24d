"""`alita sessions …` from a shell: each command does what it says, and `--json` says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from re import fullmatch
from typing import Any

import pytest

from alita_tui.app.recordings import FROM_ELSEWHERE
from alita_tui.replay.export import export
from alita_tui.store.sessions import SessionStore
from tests.support.goldens import FOLDER, golden


class Shell:
    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "alita_tui", "--home", str(self.home), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)

    def has(self, name: str) -> str:
        """Put a golden session among those of this home, as its own; return its id."""
        store = SessionStore(self.home / "data" / "sessions")
        return store.add(golden(name)[0].session_id, golden(name))

    def json(self, *words: str) -> Any:
        done = self.run("sessions", *words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


def test_a_session_from_import_to_restore(shell: Shell, tmp_path: Path) -> None:
    source = tmp_path / "dice.jsonl"
    source.write_text(export(golden("golden-dice-openai"), "jsonl", lambda one: one))
    imported = shell.json("import", str(source))
    made = imported["session_id"]
    assert imported == {"session_id": made, "events": len(golden("golden-dice-openai")), "breaches": []}
    fingerprint = shell.run("replay", str(source), "--headless").stdout
    assert fullmatch(r"2:[0-9a-f]{64}\n", fingerprint), "an export is played as it is"
    refused = shell.run("sessions", "fork", made, "--at", "9")
    assert refused.returncode == 2 and "comes from elsewhere" in refused.stderr
    assert "comes from elsewhere" in shell.run("resume", made).stderr
    assert [one["imported"] for one in shell.json("list")] == [True]
    shell.json("delete", made)
    made = shell.has("golden-dice-openai")
    fork = shell.json("fork", made, "--at", "9")["session_id"]
    listed = {one["session_id"]: one for one in shell.json("list")}
    assert listed[fork]["parent"] == made and listed[fork]["parent_seq"] == 9
    assert {hit["session_id"] for hit in shell.json("search", "dice")} == {made, fork}
    assert shell.json("rename", made, "Rolling")["title"] == "Rolling"
    assert shell.json("tag", made, "games", "old")["tags"] == ["games", "old"]
    assert shell.json("archive", fork)["archived"] is True
    assert [one["label"]["title"] for one in shell.json("list")] == ["Rolling"]
    assert len(shell.json("list", "--all")) == 2
    assert [one["session_id"] for one in shell.json("list", "--tag", "#games")] == [made]
    found = shell.json("compare", made, fork)
    assert found["common"] == 9 and found["left"]["steps"] > found["right"]["steps"]
    assert shell.json("delete", made)["session_id"] == made
    assert [one["session_id"] for one in shell.json("list", "--all")] == [fork]
    assert shell.json("restore")["session_id"] == made
    assert {one["session_id"] for one in shell.json("list", "--all")} == {made, fork}
    shell.json("restore", imported["session_id"])
    (verified,) = shell.json("verify", imported["session_id"])["sessions"]
    assert verified == {
        "session_id": imported["session_id"], "events": len(golden("golden-dice-openai")),
        "breaches": [], "file": [], "tools": [], "verdicts": [], "proves": [FROM_ELSEWHERE],
    }  # fmt: skip


def test_no_secret_is_imported_or_exported(shell: Shell, tmp_path: Path) -> None:
    secret = "correct-horse-battery-1234"
    shell.home.mkdir()
    (shell.home / ".env").write_text(f"OPENAI_API_KEY={secret}\n")
    source = tmp_path / "in.jsonl"
    source.write_text(
        export(golden("golden-dice-openai"), "jsonl", lambda one: one).replace("roll dice", f"roll {secret}")
    )
    made = shell.json("import", str(source))["session_id"]
    assert secret not in (shell.home / "data" / "sessions" / f"{made}.json").read_text()
    for form, ending in (("html", "html"), ("markdown", "md"), ("asciicast", "cast"), ("jsonl", "jsonl")):
        out = tmp_path / f"out.{ending}"
        said = shell.json(
            "export", str(FOLDER / "golden-dice-openai.json"), "--format", form, "--out", str(out)
        )
        assert said["path"] == str(out) and "Secrets are redacted" in out.read_text()
        shell.json("export", made, "--format", form, "--out", str(out))
        assert secret not in out.read_text()
        assert "[redacted" in out.read_text().replace("\\[", "[")
        assert out.stat().st_mode & 0o077 == 0
    assert secret not in shell.run("sessions", "rename", made, f"about {secret}").stdout


def test_session_commands_answer_people_in_words(shell: Shell) -> None:
    walk = shell.has("golden-walkthrough")
    made = shell.run("sessions", "fork", walk, "--at", "20")
    name = made.stdout.split()[0]
    assert f"alita_tui --home {shell.home} --session {name}" in made.stdout
    slip = f"{name[:-1]}{(int(name[-1], 16) + 1) % 16:x}"
    assert f"Did you mean {name}" in shell.run("sessions", "show", slip).stderr
    assert shell.run("sessions", "search", "nothinglikethis").returncode == 1
    assert "--at" in shell.run("sessions", "search", "validate").stderr
    told = shell.run("sessions", "compare", walk, name).stdout
    assert "The first 20 events are the same." in told and "validate_email_addresses 1×" in told
    assert shell.run("sessions", "tag", name, "--", "work", "-gone").stdout == "#work\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fork", "none-such"), "There is no session 'none-such'."),
        (("fork", str(FOLDER / "golden-exit.json"), "--at", "9"), "comes from elsewhere"),
        (("delete", str(FOLDER / "golden-exit.json")), "is not in the folder of sessions"),
        (("restore",), "No session was deleted."),
        (("import", "/none/such.jsonl"), "cannot be read"),
    ],
)
def test_an_impossible_request_is_refused_in_one_line(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    done = shell.run("sessions", *words)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr
    assert (FOLDER / "golden-exit.json").exists()


def test_printed_commands_use_the_same_home(shell: Shell) -> None:
    session_id = shell.has("golden-dice-openai")
    forked = shell.run("sessions", "fork", session_id).stdout
    assert f"alita_tui --home {shell.home} --session " in forked
    refused = shell.run("attach", "--json")
    assert f"alita_tui --home {shell.home} run --detach" in refused.stderr
    assert f"alita_tui --home {shell.home} --session ID" in refused.stderr
