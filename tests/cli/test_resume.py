"""`alita resume` from a shell: what it says of what it gives back, of damage, and of who else has the session."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from alita_tui.store.sessions import SessionFile
from tests.cli.processes import alita
from tests.crash.scene import at_the_console


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    await at_the_console(tmp_path)
    return tmp_path / "home"


def resume(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return alita(home, "resume", *words)


async def test_resume_reports_how_much_was_restored_and_what_was_not(home: Path) -> None:
    (path,) = (home / "data" / "sessions").glob("*.json")
    events = len(json.loads(path.read_text())["events"])
    whole = resume(home)
    assert whole.returncode == 0 and f"Restored {events} events\n" in whole.stderr

    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2] + b"\x00\xff" + raw[len(raw) // 2 + 2 :])
    for words in (("sessions", "show", path.stem), ("replay", path.stem, "--headless")):
        looked_at = alita(home, *words)
        assert "damaged: " in looked_at.stderr and "1 record could not be restored" in looked_at.stderr, words
    damaged = resume(home, path.stem)
    assert damaged.returncode == 0
    (line,) = [line for line in damaged.stderr.splitlines() if "Restored" in line]
    assert "1 record could not be restored" in line and f"kept as {path.name}.damaged-1" in line
    assert path.with_name(f"{path.name}.damaged-1").read_bytes() != path.read_bytes()


async def test_a_session_open_elsewhere_is_left_alone(home: Path) -> None:
    (path,) = (home / "data" / "sessions").glob("*.json")
    held = SessionFile.open(path)
    refused = resume(home)
    assert refused.returncode == 1 and refused.stdout == ""
    assert f"is open in another process (process {os.getpid()})" in refused.stderr
    assert "`alita replay` looks at a session meanwhile" in " ".join(refused.stderr.split())
    held.close()
    assert resume(home).returncode == 0
