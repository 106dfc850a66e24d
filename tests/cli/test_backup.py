"""`alita backup` from a shell, on a home as a session left it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.crash.scene import at_the_console


def alita(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "alita_tui", "--home", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)


def told(home: Path, *words: str) -> Any:
    done = alita(home, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_the_library_comes_back_and_its_tools_run_as_approved(tmp_path: Path) -> None:
    await at_the_console(tmp_path)
    home = tmp_path / "home"
    assert told(home, "backup", "list") == []
    made = told(home, "backup", "create")
    assert "registry.json" in made["files"] and "mcp_box/double_it/v1/double_it.py" in made["files"]

    (home / "data" / "registry.json").unlink()
    (home / "data" / "registry.json.journal").unlink(missing_ok=True)
    (home / "data" / "mcp_box" / "double_it" / "v1" / "double_it.py").write_text("gone = True\n")
    assert told(home, "tools", "list") == []

    done = told(home, "backup", "restore", made["backup_id"])
    assert done["restored"]["backup_id"] == made["backup_id"]
    assert [tool["name"] for tool in told(home, "tools", "list")] == ["double_it"]
    assert told(home, "sessions", "verify")["ok"]

    shown = alita(home, "backup", "restore", done["before"]["backup_id"]).stdout
    assert "To undo it: alita backup restore " in shown
    assert told(home, "tools", "list") == []
    unknown = alita(home, "backup", "restore", "nothing")
    assert unknown.returncode == 2 and "no backup 'nothing'" in unknown.stderr
