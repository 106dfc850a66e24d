"""From a shell: damage to shared files is said, they are plain TinyDB after an exit, standard input is read to its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tinydb import TinyDB

from alita_tui.llm.scripted import Rule, Script
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "alita_tui", "--home", str(home), *words]


def alita(home: Path, *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    done = subprocess.run(
        command(home, *words), capture_output=True, text=True, timeout=400, check=False, **given
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a tool, a memory, a label and some spend in their journals, as a killed process leaves them."""
    from alita_tui.app.context import AppContext
    from alita_tui.events import MemoryItem

    app = AppContext.open(tmp_path)
    app.tool_documents.put("tool:x", {"kind": "note", "name": "x"})
    app.memory.write(
        MemoryItem(
            item_id="m1", memory="semantic", text="Emails have an at sign.", source_session="s", source_seq=1
        )
    )
    app.sessions.add("20261121-000000-aaaa", _events("20261121-000000-aaaa"))
    app.spend_book("s").settle("c1", 0.5, 100)
    return tmp_path


def _events(session_id: str):
    import msgspec

    from tests.support.goldens import walkthrough

    return (msgspec.structs.replace(one, session_id=session_id) for one in walkthrough())


def test_shared_files_show_their_content_to_plain_tinydb_after_a_normal_exit(home: Path) -> None:
    assert alita(home, "sessions", "rename", "20261121", "Emails").returncode == 0
    assert alita(home, "tools", "list").returncode == 0
    with TinyDB(home / "data" / "labels.json") as plain:
        assert [row["value"]["title"] for row in plain.table("labels").all()] == ["Emails"]
    assert (home / "data" / "labels.json.journal").stat().st_size == 0


def test_a_run_leaves_library_memory_and_spend_to_plain_tinydb(home: Path) -> None:
    done = alita(home, "demo", "--json", "Which of these are valid emails?")
    assert done.stdout
    with TinyDB(home / "data" / "registry.json") as plain:
        assert plain.table("tools").all()
    with TinyDB(home / "data" / "memory.json") as plain:
        assert plain.table("items").all()


def test_damage_to_the_library_is_reported_until_the_original_is_gone(
    home: Path,
) -> None:
    journal = home / "data" / "registry.json.journal"
    journal.write_bytes(journal.read_bytes().replace(b'"name":"x"', b'"name":"y"'))
    listed = alita(home, "tools", "list").stderr
    assert "registry.json was damaged: 1 record could not be read" in listed and "alita backup list" in listed
    alita(home, "demo", "anything")  # writes to the library? it may; the original is kept then
    from alita_tui.app.context import AppContext

    AppContext.open(home).tool_documents.put("tool:z", {"kind": "note"})
    kept = home / "data" / "registry.json.journal.damaged-1"
    assert kept.exists() and kept.name in alita(home, "tools", "list").stderr
    checks = json.loads(alita(home, "doctor", "--json").stdout)
    (told,) = [one for one in checks if one["name"] == "data"]
    assert told["state"] == "problem" and kept.name in told["detail"] and "backup" in told["hint"]
    assert kept.name in alita(home, "demo", "anything").stderr
    kept.unlink()
    assert "damaged" not in alita(home, "tools", "list").stderr


def given(stream: str) -> tuple[str, list[str]]:
    """Return a task's text and the beginnings of the files that it was given, as `--json` prints them."""
    events = [json.loads(line)["event"] for line in stream.splitlines()]
    (submitted,) = [event for event in events if event["kind"] == "task_submitted"]
    files = {e["artefact"]["handle"]: e["artefact"] for e in events if e["kind"] == "artefact_added"}
    found = [files[handle] for handle in submitted.get("files", ())]
    assert all(file["name"] == "stdin.txt" for file in found)
    return submitted["text"], [file["preview"] + "\n" for file in found]


@pytest.mark.parametrize("late", [0.0, 3.0])
def test_standard_input_is_read_to_its_end_however_slowly_it_arrives(tmp_path: Path, late: float) -> None:
    """It says `DATA`, after the program has looked for input at least once."""
    environ = {**os.environ, "ALITA_MODEL": "demo:recorded"}
    with subprocess.Popen(
        command(tmp_path, "run", "--json", "Say this"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    ) as run:
        assert run.stdin is not None
        time.sleep(late)  # the attack itself: data that is late
        out, _ = run.communicate("DATA\n", timeout=400)
    assert given(out) == ("Say this", ["DATA\n"])


def test_standard_input_may_be_a_file_or_closed(tmp_path: Path) -> None:
    source = tmp_path / "data.txt"
    source.write_text("FROM A FILE\n")
    for stdin, expected in ((source, ["FROM A FILE\n"]), (Path("/dev/null"), [])):
        with stdin.open() as file:
            done = subprocess.run(
                command(tmp_path / "home", "run", "--json", "--model", "demo:recorded", "Say this"),
                stdin=file, capture_output=True, text=True, timeout=400, check=False,
            )  # fmt: skip
        assert given(done.stdout) == ("Say this", expected)


def test_the_reason_of_a_failure_is_on_stderr_and_resume_retries_or_says_why_not(tmp_path: Path) -> None:
    replies = (act("nonsense"), act("nonsense"), act("answer", text="now"))
    script = Script(
        format="alita-script/1",
        name="late",
        rules=(Rule(role="orchestrator", match="TASK: ", replies=replies),),
    )
    with OpenAIServer(script) as server:
        (tmp_path / "config.toml").write_text(
            f'[model]\nprovider = "custom"\nname = "m"\nbase_url = "{server.base_url}"\n'
        )
        failed = alita(tmp_path, "run", "say it")
        assert failed.returncode == 1 and "no valid action twice in a row" in failed.stderr
        tried = alita(tmp_path, "resume", "--json")
        events = [json.loads(line)["event"] for line in tried.stdout.splitlines()]
        (submitted,) = [one for one in events if one["kind"] == "task_submitted"]
        assert (tried.returncode, submitted["retried"], submitted["text"]) == (0, True, "say it")
        again = alita(tmp_path, "resume")
        assert again.returncode == 0 and "the last task was answered" in again.stderr


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(2_000_000)
    assert alita(home, "config", "set", "artefacts.file_mb", "1").returncode == 0
    given = ("run", "--model", "demo:recorded", "--file", str(large), "Say this")
    for words, text in ((given, None), (("run", "--model", "demo:recorded", "Say this"), "x" * 2_000_000)):
        done = alita(home, *words, text=text)
        assert done.returncode != 0 and "artefacts.file_mb" in done.stderr, (done.returncode, done.stderr)
    missing = alita(home, "run", "--file", str(tmp_path / "none.csv"), "Say this")
    assert missing.returncode == 2 and "none.csv" in missing.stderr
