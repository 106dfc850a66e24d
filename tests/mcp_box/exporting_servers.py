"""Exporting a server."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from alita_tui.cli.main import cli
from tests.cli.audited import Shell


def export(shell: Shell, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(shell.home), "tools", "export", *words])
