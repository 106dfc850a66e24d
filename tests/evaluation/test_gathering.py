"""A suite out of what a person liked and corrected: through the shell, and what is secret stays where it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evaluation.test_run import MIND, settle
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
