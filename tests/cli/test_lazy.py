"""The list of commands imports none of them, and says of each what it says of itself."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from alita_tui.cli.main import Commands, cli

PROBE = (
    "import sys\nfrom alita_tui.cli.main import cli\n"
    "try:\n    cli(sys.argv[1:], standalone_mode=False)\nexcept SystemExit:\n    pass\n"
    "print('LOADED', sorted(name for name in sys.modules if name.startswith('alita_tui.')))"
)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_command(option: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE, option], capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("LOADED")[2]
    assert loaded.strip() == "['alita_tui.cli', 'alita_tui.cli.lazy', 'alita_tui.cli.main']"


@pytest.mark.parametrize("name", Commands.targets)
def test_every_command_is_in_the_module_that_the_table_names(name: str) -> None:
    place, summary = Commands.targets[name]
    module, _, attribute = place.partition(":")
    target = getattr(import_module(module), attribute)
    if not isinstance(target, typer.Typer):
        assert (inspect.getdoc(target) or "").split("\n")[0] == summary


def test_a_mistyped_command_gets_the_nearest_suggestion() -> None:
    from typer.testing import CliRunner

    done = CliRunner().invoke(cli, ["session", "list"])
    assert done.exit_code == 2 and "Did you mean 'sessions'" in done.output


def test_a_list_of_tools_does_not_import_what_only_a_search_needs(tmp_path: Path) -> None:
    probe = PROBE.replace("startswith('alita_tui.')", "startswith('numpy')")
    words = [sys.executable, "-c", probe, "--home", str(tmp_path), "tools", "list"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.rpartition("LOADED")[2].strip() == "[]"
