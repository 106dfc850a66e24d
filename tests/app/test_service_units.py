"""The units for systemd and launchd in docs/background.md do what is said there."""

from __future__ import annotations

import configparser
import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs/background.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_systemd_service_takes_over_whenever_another_background_ends() -> None:
    """A background that a command started makes `alita serve` fail. By default systemd gives up after five failures."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(block("ini"))
    assert unit["Service"]["ExecStart"].endswith("/alita serve")
    assert unit["Service"]["Restart"] == "on-failure", "`alita serve --stop` ends it"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0" and int(unit["Service"]["RestartSec"]) >= 10
    assert unit["Service"]["KillMode"] == "mixed", (
        "alita ends its containers itself, so they get no signal before it"
    )


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    file = tmp_path / "alita.service"
    file.write_text(block("ini").replace("%h/.local/bin/alita", str(shutil.which("true"))))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and str(file.name) not in done.stderr, done.stderr


def test_the_agent_of_launchd_finds_podman_keeps_a_log_and_can_be_stopped() -> None:
    agent = plistlib.loads(block("xml").encode())
    program, *words = agent["ProgramArguments"]
    assert words == ["serve"] and Path(program).is_absolute() and "~" not in program
    assert "/opt/homebrew/bin" in agent["EnvironmentVariables"]["PATH"].split(":")
    assert Path(agent["StandardOutPath"]).is_absolute() and Path(agent["StandardErrorPath"]).is_absolute()
    assert agent["RunAtLoad"] and agent["KeepAlive"] == {"SuccessfulExit": False}
