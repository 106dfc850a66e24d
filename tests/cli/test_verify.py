"""`alita sessions verify` finds what was changed after it was written, wherever it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scene import at_the_console
from tests.support.rewriting import change


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A home with one session: a build rejected, one approved, its tool in the library."""
    await at_the_console(tmp_path)
    return tmp_path / "home"


def verify(home: Path, *words: str) -> tuple[int, Any]:
    command = [sys.executable, "-m", "alita_tui", "--home", str(home), "sessions", "verify", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def only(path: Path, pattern: str) -> Path:
    (found,) = path.glob(pattern)
    return found


def swap(path: Path, old: str, new: str) -> None:
    """In the first draft that the session holds."""

    def in_draft(text: bytes) -> bytes:
        before, kind, after = text.partition(b'"kind":"build_drafted"')
        assert old.encode() in after
        return before + kind + after.replace(old.encode(), new.encode(), 1)

    change(path, in_draft)


async def test_an_intact_home_passes_and_each_change_is_found(home: Path) -> None:
    code, found = verify(home)
    assert code == 0 and found["ok"] and found["audit"] == []
    (session,) = found["sessions"]
    assert session["events"] > 60
    assert (session["breaches"], session["file"], session["tools"], session["verdicts"]) == ([], [], [], [])

    tool = only(home, "data/mcp_box/double_it/v1/double_it.py")
    whole = tool.read_text()
    tool.write_text(whole + "# added later\n")
    code, found = verify(home)
    assert code == 1 and "not the ones that were approved" in found["sessions"][0]["tools"][0]
    tool.write_text(whole)

    audit = home / "data" / "audit.jsonl"
    lines = audit.read_bytes().splitlines(keepends=True)
    audit.write_bytes(lines[0])
    code, found = verify(home, "--all")
    assert code == 1 and "its head counts 2: entry 2 is gone" in found["audit"][0]
    (missing,) = found["sessions"][0]["verdicts"]
    assert "the verdict approved by" in missing and "is not in the log" in missing
    audit.write_bytes(lines[0].replace(b'"rejected"', b'"approved"') + lines[1])
    code, found = verify(home)
    assert code == 1 and found["audit"] and "session: approved" in found["sessions"][0]["verdicts"][0]
    audit.write_bytes(b"".join(lines))

    session_file = only(home, "data/sessions/*.json")
    swap(session_file, "return 2 * x", "return 3 * x")
    code, found = verify(home)
    laws = {breach["law"] for breach in found["sessions"][0]["breaches"]}
    assert code == 1 and "digest" in laws
    swap(session_file, "return 3 * x", "return 2 * x")
    assert verify(home)[0] == 0

    raw = session_file.read_bytes()
    session_file.write_bytes(raw[: len(raw) // 2] + b"\x00\xff" + raw[len(raw) // 2 + 2 :])
    code, found = verify(home)
    assert code == 1 and "was damaged" in found["sessions"][0]["file"][0]
