"""What is built is whole: themes, recordings, prompts and the seccomp profile are in the wheel and are found."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_contains_its_data_files(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for wanted in (
        "alita_tui/_shipped/themes/alita-dark.toml",
        "alita_tui/_shipped/sessions/demo.script.json",
        "alita_tui/_shipped/starters/file_read/file_read.py",
        "alita_tui/_shipped/sessions/golden-walkthrough.json",
        "alita_tui/agent/prompts/orchestrator.md",
        "alita_tui/toolsmith/prompts/toolsmith.md",
        "alita_tui/toolsmith/prompts/submit_tool.json",
        "alita_tui/runtimes/rules/reach.toml",
        "alita_tui/replay/player.html",
        "alita_tui/sandbox/seccomp.json",
        "alita_tui/sandbox/warden/__main__.py",
    ):
        assert wanted in names
    assert not [name for name in names if name.startswith("tests/")]


def test_an_installed_wheel_finds_its_themes_and_recordings(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import alita_tui\n"
        "from alita_tui.config.paths import shipped\n"
        "from alita_tui.llm.scripted import load_script\n"
        "from alita_tui.console.themes import load\n"
        "assert alita_tui.__file__.startswith(sys.argv[1])\n"
        "print(len(load(shipped('themes')).themes), len(load_script(shipped('sessions') / 'demo.script.json').tasks))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["6", "5"]
    assert (tmp_path / "alita_tui/_shipped/sessions/demo-sales.csv").is_file()
