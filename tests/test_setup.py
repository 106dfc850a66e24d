"""What set-up says on a machine with git, make and Python alone, to somebody without root's rights."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from alita_tui.sandbox import setup

ROOT = Path(__file__).parent.parent
_PROGRAMS = ("sh", "id", "cat", "cut", "dirname", "sha256sum", "apt-get")
COMMAND = "apt-get update && apt-get install -y --no-install-recommends "

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the set-up is for Debian and Ubuntu")


@pytest.fixture
def fresh(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine on which no more than `_PROGRAMS` and this Python are found, without ensurepip."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in _PROGRAMS:
        (programs / name).symlink_to(str(shutil.which(name)))
    (programs / "python3").symlink_to(sys.executable)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "ensurepip.py").write_text("raise ImportError('as on Debian without python3-venv')\n")
    return {"PATH": str(programs), "PYTHONPATH": str(modules)}


def without_rights(*argv: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody who is not root (in a user namespace without accounts) and has no terminal."""
    command = [str(shutil.which("unshare")), "--user", "--", *argv]
    return subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_setup_names_one_command_that_installs_all_that_is_missing(
    fresh: dict[str, str], tmp_path: Path
) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = without_rights("sh", str(tmp_path / ".ci/setup"), environ=fresh)
    python = "python{}.{}-venv".format(*sys.version_info[:2])
    packages = " ".join((python, *setup._PROGRAMS.values()))
    assert COMMAND + packages in done.stderr, done.stderr
    assert (done.returncode, done.stdout, (tmp_path / ".venv").exists()) == (1, "", False)


def test_setup_names_the_command_that_installs_a_missing_browser(
    fresh: dict[str, str], tmp_path: Path
) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    done = without_rights("sh", str(tmp_path / ".ci/browser"), environ=fresh)
    assert f"{COMMAND}chromium\n" in done.stderr, done.stderr
    assert done.returncode == 1


def test_doctor_names_the_whole_command(fresh: dict[str, str]) -> None:
    code = (
        "import asyncio\n"
        "from alita_tui.sandbox.setup import _install\n"
        "from alita_tui.spine.errors import SandboxUnavailable\n"
        "try:\n"
        "    asyncio.run(_install(['podman', 'uidmap'], lambda *_: None))\n"
        "except SandboxUnavailable as error:\n"
        "    print(error.message, error.hint)\n"
    )
    done = without_rights(sys.executable, "-c", code, environ=fresh | {"PYTHONPATH": str(ROOT)})
    assert done.stdout == f"Installing podman, uidmap needs root. Run as root: {COMMAND}podman uidmap\n", (
        done.stderr
    )
