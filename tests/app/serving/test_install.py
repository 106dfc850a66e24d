"""Other programs' settings: one key is set, every other byte stays, and a backup is kept."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
import yaml
from typer.testing import CliRunner, Result

from alita_tui.app.serving.install import apply, planned
from alita_tui.cli.main import cli
from alita_tui.cli.mcp_clients import _difference
from alita_tui.mcp_box.clients import ClientName, client_file
from alita_tui.mcp_box.jsonc import Unreadable, parsed, with_entry
from alita_tui.spine.errors import UsageError

COMMAND = ("/opt/alita/bin/alita", "mcp", "serve")
CLIENTS: tuple[ClientName, ...] = get_args(ClientName)
ZED = """// my settings
{
  "theme": "One", // keep // this
  "path": "/* no comment */ \\" {",
  "context_servers": {
    /* others */
    "other": {"command": "x", "args": ["a", "b",],},
  },
}
"""
CODEX = '# mine\nmodel = "gpt"\n\n[mcp_servers.other]\ncommand = "x" # keep\n\n[tui]\nnotifications = true\n'
GOOSE = "# mine\nGOOSE_MODEL: x  # keep\nextensions:\n  # others\n  developer:\n    enabled: true\n    type: builtin\nlast: 1\n"


def read(text: str, form: str) -> Any:
    return parsed(text) if form == "json" else tomllib.loads(text) if form == "toml" else yaml.safe_load(text)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("there", ["nothing", "empty", "others", "earlier"])
def test_a_client_gets_one_entry_and_keeps_everything_else(
    tmp_path: Path, client: ClientName, there: str
) -> None:
    environ = {"HOME": str(tmp_path)}
    place = client_file(client, environ)
    others = {"json": ZED.replace("context_servers", place.under), "toml": CODEX, "yaml": GOOSE}[place.form]
    if there != "nothing":
        place.path.parent.mkdir(parents=True, exist_ok=True)
        text = "" if there == "empty" else others
        if there == "earlier":
            text = place.changed(others, place.entry(("/old/alita",)))
        place.path.write_text(text)
        place.path.chmod(0o640)
    plan = planned(client, COMMAND, environ)
    assert place.path.exists() == (there != "nothing"), "showing it changes nothing"
    backup = apply(plan)
    now = place.path.read_text()
    found = read(now, place.form)
    entry = found[place.under].pop("alita")
    said = [entry["cmd"] if client == "goose" else entry["command"], *entry["args"]]
    assert said == list(COMMAND)
    assert planned(client, COMMAND, environ).changes is False
    if there in ("others", "earlier"):
        assert found == read(others, place.form)
        kept = [
            line for line in others.splitlines() if line.strip() and line.strip() not in ("}", "},", "},\n")
        ]
        assert [line for line in kept if line not in now] == [], "comments and all"
        assert backup is not None and backup.read_text() == plan.before
        assert {one.stat().st_mode & 0o777 for one in (place.path, backup)} == {0o640}
    if there == "nothing":
        assert backup is None and place.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["closed", "open"])
@pytest.mark.parametrize("client", CLIENTS)
def test_every_other_line_keeps_its_line_end(client: ClientName, last: str, ends: str) -> None:
    place = client_file(client, {"HOME": "/home/ada"})
    text = {"json": ZED.replace("context_servers", place.under), "toml": CODEX, "yaml": GOOSE}[place.form]
    text = (text if last == "closed" else text.rstrip("\n")).replace("\n", ends)
    edited = place.changed(text, place.entry(COMMAND))
    lines = iter(edited.splitlines(keepends=True))
    assert [line for line in text.splitlines(keepends=True)[:-1] if line not in lines] == []
    assert edited.endswith("\n") == text.endswith("\n") or place.form == "toml"
    assert ends == "\n" or place.form != "yaml" or "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize("last", ["", "\r\n", "\r\n\r\n[tui]\r\nx = 1\r\n"])
def test_a_file_with_windows_line_ends_keeps_them(last: str) -> None:
    place = client_file("codex", {"HOME": "/home/ada"})
    text = f'# mine\r\n[mcp_servers.other]\r\ncommand = """a\r\nb"""{last}'
    edited = text
    for program in ("/old/alita", "/new/alita"):
        edited = place.changed(edited, place.entry((program,)))
        assert "\n" not in edited.replace("\r\n", "") and "alita" in edited
    mixed = text + "\n# mine\n"
    kept = iter(place.changed(mixed, place.entry(COMMAND)).splitlines(keepends=True))
    assert [line for line in mixed.splitlines(keepends=True) if line not in kept] == []


@pytest.mark.parametrize("empty", ["{}", " {  }  # none yet", " ~", " null"])
@pytest.mark.parametrize("last", ["", "\n", "\r\n", "\nlast: 1\n"])
def test_goose_without_an_extension_gets_its_first(empty: str, last: str) -> None:
    place = client_file("goose", {"HOME": "/home/ada"})
    text = f"GOOSE_MODEL: x\nextensions:{' ' if empty == '{}' else ''}{empty}{last}"
    edited = place.changed(text, place.entry(COMMAND))
    assert yaml.safe_load(edited) == {**yaml.safe_load(text), "extensions": {"alita": place.entry(COMMAND)}}
    assert ("# none yet" in edited) == ("#" in empty)
    again = place.changed(edited, place.entry(COMMAND))
    assert again == edited


@pytest.mark.parametrize("table", ["", "[mcp_servers.alita.env]\nKEY = 'x'\n"])
def test_comments_behind_an_earlier_toml_entry_stay(table: str) -> None:
    behind = "\n# about the screen\n\n# more\n[tui]\nnotifications = true # keep\n"
    before = f"# mine\n\n[mcp_servers.alita]\ncommand = 'old' # earlier\n{table}"
    place = client_file("codex", {"HOME": "/home/ada"})
    edited = place.changed(before + behind, place.entry(COMMAND))
    assert edited.startswith("# mine\n\n[mcp_servers.alita]\n") and edited.endswith(behind)
    assert tomllib.loads(edited)["mcp_servers"] == {"alita": place.entry(COMMAND)}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("text", ["{{{", "[1, 2", "a: [b\n", '{"mcpServers": 3, "servers": [], "context_servers": ""}', "- a\n- b\n", "mcp_servers = 3", "extensions: 3\n", "extensions: {a: 1}\n", "\x00"])  # fmt: skip
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    tmp_path: Path, client: ClientName, text: str
) -> None:
    place = client_file(client, {"HOME": str(tmp_path)})
    place.path.parent.mkdir(parents=True, exist_ok=True)
    place.path.write_text(text)
    try:
        plan = planned(client, COMMAND, {"HOME": str(tmp_path)})
    except UsageError as error:
        assert "is left as it is" in str(error) and "alita mcp config" in str(error)
    else:
        before, after = read(text, place.form), read(plan.after, place.form)
        assert after.pop(place.under)["alita"] and after == before, "it could be edited after all"
    assert place.path.read_text() == text


def test_a_file_that_changes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    path = tmp_path / ".claude.json"
    path.write_text('{"projects": {}}')
    plan = planned("claude-code", COMMAND, environ)
    path.write_text('{"projects": {"a": 1}}')
    with pytest.raises(UsageError, match="another program"):
        apply(plan)
    assert json.loads(path.read_text()) == {"projects": {"a": 1}}
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".claude.json.alita")] == []


def test_a_settings_file_that_is_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "mcp.json"
    target.parent.mkdir()
    target.write_text("{}")
    link = tmp_path / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(target)
    apply(planned("cursor", COMMAND, {"HOME": str(tmp_path)}))
    assert link.is_symlink() and "alita" in json.loads(target.read_text())["mcpServers"]


def test_the_commands_show_then_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / "home"

    def alita(*words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(home), "mcp", *words])

    path = tmp_path / ".gemini" / "settings.json"
    path.parent.mkdir()
    secret = '{\n  "one": {"key": "sk-very-secret"},\n  "two": 2,\n  "three": 3,\n  "four": 4\n}\n'
    path.write_text(secret)
    shown = alita("install", "gemini")
    assert (
        shown.exit_code == 0
        and f"In {path}:" in shown.stdout
        and "Nothing was changed" in shown.stdout
        and '"mcpServers": {' in shown.stdout
    )
    assert "sk-very-secret" not in shown.stdout and path.read_text() == secret
    done = alita("install", "gemini", "--write")
    assert done.exit_code == 0 and "Before it was" in done.stdout
    words = json.loads(path.read_text())["mcpServers"]["alita"]["args"]
    assert words[-4:] == ["--home", str(home), "mcp", "serve"]
    assert "has it already" in alita("install", "gemini").stdout
    for client in CLIENTS:
        printed = alita("config", client)
        assert printed.exit_code == 0 and "alita" in printed.stdout, client
    url = "http://127.0.0.1:8765/mcp"
    for client in CLIENTS:
        remote = alita("config", client, "--http", url)
        if client == "claude-desktop":
            assert isinstance(remote.exception, UsageError), "its file takes no address"
            continue
        assert url in remote.stdout and "mcp.token" in remote.stdout, client
        assert "ALITA_MCP_TOKEN" in remote.stdout if client == "codex" else "Bearer TOKEN" in remote.stdout
    assert alita("install", "notepad").exit_code == 2


def test_modules_of_the_working_folder_are_not_imported(tmp_path: Path) -> None:
    """Editors start servers in the project's folder, which may be anybody's."""
    project, trace = tmp_path / "project", tmp_path / "it-ran"
    project.mkdir()
    for name in ("typer.py", "queue.py", "msgspec.py"):
        (project / name).write_text(f"open({str(trace)!r}, 'w').close()\n")
    words = [
        sys.executable,
        "-m",
        "alita_tui",
        "--home",
        str(tmp_path / "home"),
        "mcp",
        "config",
        "cursor",
        "--json",
    ]
    printed = subprocess.run(words, capture_output=True, text=True, timeout=400, check=True).stdout
    entry = json.loads(printed)["entry"]
    started = [entry["command"], *entry["args"], "--help"]
    done = subprocess.run(started, cwd=project, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0 and not trace.exists(), done.stderr


@pytest.mark.parametrize(
    ("client", "before"),
    [
        (
            "codex",
            '[mcp_servers.github]\ncommand = "x"\n[mcp_servers.github.env]\nGITHUB_TOKEN = "ghp_SECRET"\n',
        ),
        ("cursor", '{\n "mcpServers": {\n  "gh": {"command":"x","env":{"TOKEN":"ghp_SECRET"}}\n }\n}\n'),
        ("cursor", '{"mcpServers": {"gh": {"command":"x","env":{"TOKEN":"ghp_SECRET"}}}}\n'),
    ],
)
def test_the_shown_change_contains_no_neighbouring_lines(
    tmp_path: Path, client: ClientName, before: str
) -> None:
    place = client_file(client, {"HOME": str(tmp_path)})
    shown = _difference(before, place.changed(before, place.entry(COMMAND)))
    assert "SECRET" not in shown and "alita" in shown


def made(random: Random, depth: int = 0) -> Any:
    kind = random.choice(("text", "number", "list", "object")) if depth < 4 else "text"
    if kind == "list":
        return [made(random, depth + 1) for _ in range(random.randrange(3))]
    if kind == "object":
        return {
            random.choice(("a", "s", '"', "//", "{")): made(random, depth + 1)
            for _ in range(random.randrange(4))
        }
    return (
        random.choice(("", "}", '\\"', "/*", "\n"))
        if kind == "text"
        else random.choice((0, -1.5, None, True))
    )


@pytest.mark.parametrize("seed", range(20))
def test_setting_a_key_changes_only_that_key_in_any_file(seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        whole = {key: made(random) for key in random.sample(("a", "s", "{", "x"), random.randrange(5))}
        text = json.dumps(whole, indent=random.choice((None, 0, 1, 2, "\t")))
        if random.random() < 0.5:
            text = "// {\n" + text.replace("\n", ' // "a": 1,\n', 1) + "/* } */"
        try:
            found = with_entry(text, ("s", "alita"), {"command": "x"})
        except Unreadable:
            assert not isinstance(whole.get("s", {}), dict), text
        else:
            assert parsed(found) == {**whole, "s": {**whole.get("s", {}), "alita": {"command": "x"}}}
            assert text.strip() == "{}" or with_entry(found, ("s", "alita"), {"command": "x"}) == found
