"""What the audit log knows of the library comes back from what is left of it, and nothing else does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.damage import lost_tools
from tests.cli.audited import SESSION, TOOL
from tests.cli.records_lab import Records


@pytest.fixture
def home(tmp_path: Path) -> Records:
    made = Records(tmp_path)
    made.app.close()
    return made


def lose(home: Records, *, files: bool = False, session: bool = False) -> None:
    """Take the tool's document away, as damage does, and what else it could be put back from."""
    for path in (home.registry, home.registry.with_name("registry.json.journal")):
        path.unlink(missing_ok=True)
    if files:
        shutil.rmtree(home.app.paths.mcp_box)
    if session:
        AppContext.open(home.home).sessions.path(SESSION).unlink()
    assert not home.runs()


@pytest.mark.parametrize(("files", "source"), [(False, "its files"), (True, f"session {SESSION}")])
def test_a_lost_tool_is_put_back_from_its_files_or_its_session(
    home: Records, files: bool, source: str
) -> None:
    lose(home, files=files)
    (entry,) = lost_tools(AppContext.open(home.home))
    checks = json.loads(home.run("doctor", "--json").stdout)
    (check,) = [one for one in checks if one["name"] == "library"]
    assert entry.name == TOOL and check["detail"].startswith(f"{TOOL} v{entry.version} was approved on ")
    assert (
        check["detail"].endswith(" and is gone from the library") and "alita tools recover" in check["hint"]
    )
    done = home.run("tools", "recover")
    assert done.exit_code == 0 and f"{TOOL} v1: put back from {source}" in done.stdout
    assert home.runs() and lost_tools(AppContext.open(home.home)) == ()
    assert home.run("audit", "verify").exit_code == 0
    assert "No approved tool is missing" in home.run("tools", "recover").stdout


def test_a_revoked_tool_is_recovered_as_revoked(home: Records) -> None:
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    lose(home)
    assert home.run("tools", "recover", TOOL).exit_code == 0
    (record,) = AppContext.open(home.home).library.versions(TOOL)
    assert record.state == "revoked" and not home.runs()


def test_bytes_other_than_the_approved_ones_are_not_recovered(home: Records) -> None:
    lose(home, session=True)
    code = home.app.paths.mcp_box / TOOL / "v1" / f"{TOOL}.py"
    if not code.exists():
        (code,) = home.app.paths.mcp_box.rglob(f"{TOOL}.py")
    code.write_text(code.read_text() + "\n# planted\n")
    done = home.run("tools", "recover", "--json")
    (one,) = json.loads(done.stdout)
    assert done.exit_code == 1 and "SHA-256" in one["problem"] and not one.get("source")
    assert AppContext.open(home.home).library.versions(TOOL) == () and not home.runs()


BACKUP = """
import os, signal, sys
from pathlib import Path
from alita_tui.store import disk
from alita_tui.app.context import AppContext
real = os.pwrite
def cut(fd, data, offset):
    if len(data) > 1000:
        real(fd, data[:500], offset)
        os.kill(os.getpid(), signal.SIGKILL)
    return real(fd, data, offset)
app = AppContext.open(Path(sys.argv[1]))
backups = app.backups
os.pwrite = cut
backups.create()
"""


def test_leftovers_of_a_killed_backup_are_removed_and_a_running_one_is_not(home: Records) -> None:
    folder = home.app.paths.backups
    done = subprocess.run(
        [sys.executable, "-c", BACKUP, str(home.home)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (left,) = folder.glob("*.tmp")
    assert home.run("backup", "list").exit_code == 0 and left.exists(), "somebody may be writing it"
    os.utime(left, (1, 1))
    assert home.run("backup", "list").exit_code == 0 and not left.exists()
