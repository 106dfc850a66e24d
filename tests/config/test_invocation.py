"""The command that is printed to come back starts the alita that printed it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = "from alita_tui.config.invocation import program\nprint(program())\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of programs as an installation makes it: an interpreter, and the script `alita` that it runs."""
    folder = tmp_path / "inst" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    script = folder / "alita"
    script.write_text(f"#!{folder}/python\n{CODE}")
    script.chmod(0o755)
    return folder


def printed(command: list[str], folder: Path, path: str) -> str:
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_alita_on_the_path_commands_are_printed_as_started(installed: Path) -> None:
    away = installed.parent.parent
    assert printed(["inst/bin/alita"], away, "/usr/bin:/bin") == "('inst/bin/alita',)"
    assert printed([str(installed / "alita")], away, "/usr/bin:/bin") == f"('{installed / 'alita'}',)"


def test_an_alita_that_the_shell_finds_is_printed_by_name(installed: Path, tmp_path: Path) -> None:
    assert printed(["alita"], tmp_path, f"{installed}:/usr/bin:/bin") == "('alita',)"
    assert printed([str(installed / "alita")], tmp_path, f"{installed}:/usr/bin:/bin") == "('alita',)"
    links = tmp_path / "links"  # where pipx and uv put a link
    links.mkdir()
    (links / "alita").symlink_to(installed / "alita")
    assert printed(["alita"], tmp_path, f"{links}:/usr/bin:/bin") == "('alita',)"


def test_another_alita_on_the_path_is_not_printed(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "alita").write_text("#!/bin/sh\n")
    (other / "alita").chmod(0o755)
    assert printed(["inst/bin/alita"], tmp_path, f"{other}:/usr/bin:/bin") == "('inst/bin/alita',)"
