"""`alita roles`: what there is, and what is wrong with a person's file."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from alita_tui.app.context import AppContext
from alita_tui.app.secrets import model_keys
from alita_tui.cli.main import cli
from alita_tui.spine.errors import AlitaError

ROLE = 'purpose = "Counts \\u001b[31mwords."\nprompt = "You count."\n'


def roles(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "roles", *words])


def test_roles_are_listed_and_shown_and_a_file_adds_one(tmp_path: Path) -> None:
    assert roles(tmp_path, "list").exit_code == 0
    folder = AppContext.open(tmp_path).paths.roles
    folder.mkdir()
    (folder / "counter.toml").write_text(ROLE + "minutes = 3\n")
    listed = {one["name"]: one for one in json.loads(roles(tmp_path, "list", "--json").output)}
    assert listed["counter"]["own"] and not listed["researcher"]["own"] and listed["counter"]["minutes"] == 3
    for words in (("list",), ("show", "counter")):
        shown = roles(tmp_path, *words)
        assert shown.exit_code == 0 and "counter" in shown.output and "\x1b" not in shown.output
    assert json.loads(roles(tmp_path, "show", "writer", "--json").output)["actions"] == ["look"]
    assert roles(tmp_path, "show", "nobody").exit_code != 0
    assert roles(tmp_path, "check").exit_code == 0


def test_roles_check_names_the_file_and_its_fault(tmp_path: Path) -> None:
    folder = AppContext.open(tmp_path).paths.roles
    folder.mkdir(parents=True)
    (folder / "bad.toml").write_text(ROLE + 'models = ["no colon"]\n')
    (folder / "worse.toml").write_text("?")
    done = roles(tmp_path, "check")
    assert done.exit_code == 1 and "bad.toml" in done.output and "worse.toml" in done.output
    shown = roles(tmp_path, "show", "bad").exception
    assert isinstance(shown, AlitaError)
    assert "cannot be used" in shown.message and "alita roles check" in shown.hint
    found = json.loads(roles(tmp_path, "check", "--json").output)
    assert len(found["problems"]) == 2 and "bad" not in found["roles"]


def test_a_role_with_a_model_of_an_unknown_provider_is_named_and_stops_no_task(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path)
    app.paths.roles.mkdir(parents=True)
    app.paths.config_file.write_text('[model]\nprovider = "ollama"\nname = "m"\n')
    (app.paths.roles / "counter.toml").write_text(ROLE + 'models = ["olama:small"]\n')
    done = roles(tmp_path, "check")
    assert done.exit_code == 1 and "counter.toml" in done.output and "'olama'" in done.output
    AppContext.open(tmp_path).models()


def test_the_key_of_a_model_of_a_role_is_known_to_the_redactor(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path)
    app.paths.roles.mkdir(parents=True)
    app.paths.config_file.write_text('[model]\nprovider = "ollama"\nname = "m"\n')
    app.paths.env_file.write_text("COUNT_KEY=sk-counting-0001\n")
    app.paths.env_file.chmod(0o600)
    (app.paths.roles / "counter.toml").write_text(
        ROLE + 'models = ["openai:small; key=COUNT_KEY; base_url=http://127.0.0.1:9/v1"]\n'
    )
    assert "sk-counting-0001" in [key for _, key in model_keys(AppContext.open(tmp_path))]
