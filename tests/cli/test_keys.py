"""`alita keys`: what the console would take, and what is wrong with a keymap."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from alita_tui.cli.main import cli


def keys(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "keys", *words])


def test_keys_are_listed_with_where_to_remap_them(tmp_path: Path) -> None:
    done = keys(tmp_path)
    assert done.exit_code == 0, done.output
    assert "F1" in done.output and "app.help" in done.output and "keymap.toml" in done.output
    found = json.loads(keys(tmp_path, "F1", "--json").output)
    assert "app.help" in [one["action"] for one in found["actions"]] and found["problems"] == []
    assert len(found["actions"]) < len(json.loads(keys(tmp_path, "--json").output)["actions"])


def test_conflicts_unknown_actions_and_missing_keys_are_reported_and_other_keys_apply(tmp_path: Path) -> None:
    path = Path(json.loads(keys(tmp_path, "--json").output)["keymap"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '[keys]\n"app.quit" = "f1"\n"no.such\\u001b[31m" = "f2"\n"session.find" = "nokey"\n"app.help" = "ctrl+f12"\n'
    )
    done = keys(tmp_path, "--json")
    assert done.exit_code == 1
    found = json.loads(done.output)
    changed = {one["action"]: one["keys"] for one in found["actions"] if one["remapped"]}
    assert changed["app.help"] == ["ctrl+f12"]
    assert len(found["problems"]) == 2 and "no action" in str(found["problems"])
    told = keys(tmp_path)
    assert told.exit_code == 1 and "wrong:" in told.output and "\x1b" not in told.output
    path.write_text('[keys]\n"app.quit" = "f1"\n')
    clash = json.loads(keys(tmp_path, "--json").output)["problems"]
    assert len(clash) == 1 and "f1 would be both app.quit and app.help" in clash[0]
