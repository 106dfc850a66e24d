"""Files of a home that another program made so that reading them fails: each is named, and nothing ends in a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui.cli.main import cli
from alita_tui.events import ToolName
from alita_tui.registry.tool_files import ToolFiles
from alita_tui.spine.errors import AlitaError, RegistryError
from tests.registry.records import RECORD

DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
"""JSON in which every reader that calls itself for each level runs out of levels."""
DEEP_TOML = b"a = " + b"[" * 5_000 + b"]" * 5_000


def said(home: Path, *words: str) -> str:
    """All that a command prints. Raises whatever would be a traceback."""
    done = CliRunner().invoke(cli, ["--home", str(home), *words])
    if isinstance(done.exception, AlitaError):
        return f"{done.output}{done.exception.message} {done.exception.hint}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def put(file: Path, raw: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_bytes(raw)
    file.chmod(0o600)


@pytest.mark.parametrize("command", [("tools", "list"), ("audit", "verify")])
def test_an_audit_log_of_a_hundred_thousand_levels_is_damage(
    tmp_path: Path, command: tuple[str, str]
) -> None:
    put(tmp_path / "data" / "audit.jsonl", DEEP + b"\n")
    told = said(tmp_path, *command)
    assert "line 1" in told and "cannot be read" in told


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("policy.toml", ("policy", "list")),
        ("roles/reader.toml", ("roles", "check")),
        ("keymap.toml", ("keys",)),
    ],
)
def test_settings_of_thousands_of_levels_are_named(
    tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    put(tmp_path / name, DEEP_TOML)
    assert Path(name).stem in said(tmp_path, *command)


@pytest.mark.parametrize("note", ["desk", "left-tasks"])
def test_a_note_of_a_hundred_thousand_levels_decides_nothing(tmp_path: Path, note: str) -> None:
    from alita_tui.app.context import AppContext

    app = AppContext.open(tmp_path)
    if note == "desk":
        put(app.inbox._path("b1"), b'{"command":' + DEEP + b',"by":"me","at":"2026-11-28T20:00:00+00:00"}')
        assert app.inbox.verdict("b1") is None
    else:
        from alita_tui.store.task_inbox import TaskInbox, _prefix

        inbox = TaskInbox(app.paths.left_tasks, app.audit)

        put(
            app.paths.left_tasks / f"{_prefix('s')}1.json",
            b'{"session_id":"s","command":' + DEEP + b',"at":""}',
        )
        assert inbox.waiting("s") == []


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("registry.json", ("tools", "list")),
        ("audit.jsonl", ("tools", "list")),
        ("memory.json", ("memory", "list")),
        ("labels.json", ("sessions", "list")),
        ("servers.json", ("mcp", "list")),
        ("background.json", ("tasks", "list")),
    ],
)
@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(
    tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    os.mkfifo(data / name, 0o600)
    told = said(tmp_path, *command)
    assert name in told and "not a plain file" in told


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("data/sessions/summaries.cache", ("sessions", "list")),
        ("cache/statistics.rows", ("stats",)),
        ("cache/tools.index", ("tools", "search", "word")),
        ("keymap.toml", ("keys",)),
        ("roles/odd.toml", ("roles", "list")),
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.timeout(60)
def test_a_pipe_or_a_device_in_place_of_a_cache_or_a_setting_is_not_waited_for(
    tmp_path: Path, kind: str, name: str, command: tuple[str, ...]
) -> None:
    file = tmp_path / name
    for folder in (*reversed(file.relative_to(tmp_path).parents),):
        (tmp_path / folder).mkdir(mode=0o700, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(file, 0o600)
    else:
        file.symlink_to("/dev/zero")
    said(tmp_path, *command)


@pytest.mark.parametrize("name", ["odd.mcp.json", "odd.py", "test_odd.py"])
@pytest.mark.timeout(60)
def test_a_pipe_among_the_files_of_a_tool_is_an_error(tmp_path: Path, name: str) -> None:
    files = ToolFiles(tmp_path)
    record = msgspec.structs.replace(
        RECORD, version=1, draft=msgspec.structs.replace(RECORD.draft, name=ToolName("odd"))
    )
    folder = files.folder_of("odd", 1)
    folder.mkdir(parents=True)
    files.write(record)
    assert files.read("odd", 1)[0].code == record.draft.code
    (folder / name).unlink()
    os.mkfifo(folder / name, 0o600)
    with pytest.raises(RegistryError, match="not a plain file"):
        files.read("odd", 1)


@pytest.mark.parametrize(
    "command", [("list",), ("search", "word"), ("verify", "--all"), ("show", "odd"), ("delete", "odd")]
)
@pytest.mark.parametrize("name", ["odd.json", "odd.json.journal"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.timeout(60)
def test_a_pipe_or_a_device_among_the_sessions_is_named_and_not_waited_for(
    tmp_path: Path, kind: str, name: str, command: tuple[str, ...]
) -> None:
    sessions = tmp_path / "data" / "sessions"
    sessions.mkdir(mode=0o700, parents=True)
    (tmp_path / "data").chmod(0o700)
    if kind == "pipe":
        os.mkfifo(sessions / name, 0o600)
    else:
        (sessions / name).symlink_to("/dev/zero")
    told = said(tmp_path, "sessions", *command)
    assert "is not a plain" in told or command[0] in ("search", "delete"), "a list cuts a long path off"


@pytest.mark.parametrize("name", ["memory.json", "memory.json.journal", "servers.json", "background.json"])
def test_any_record_that_others_can_write_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path / "data" / name, b"")
    (tmp_path / "data" / name).chmod(0o666)
    told = said(tmp_path, "tools", "list")
    assert name in told and "Other users can write" in told


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("memory.json", ("memory", "list")),
        ("labels.json", ("sessions", "list")),
        ("servers.json", ("mcp", "list")),
        ("background.json", ("tasks", "list")),
    ],
)
def test_each_list_says_that_its_file_was_damaged_as_doctor_does(
    tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    put(tmp_path / "data" / name, b'{"_default": {' + b"x" * 50)
    assert f"{name} was damaged" in said(tmp_path, *command)
    assert f"{name} was damaged" in said(tmp_path, *command), "still, until the original is removed"


@pytest.mark.parametrize("levels", [900, 50_000])
def test_arguments_of_many_levels_are_refused_in_a_sentence(tmp_path: Path, levels: int) -> None:
    told = said(tmp_path, "tools", "run", "calculator", "--input", '{"a":' * levels + "1" + "}" * levels)
    assert "--input is not valid JSON" in told and "nested" in told


@pytest.mark.parametrize("place", ["the first line", "the last line"])
def test_a_line_of_a_hundred_thousand_levels_in_a_session_from_elsewhere_is_a_record_that_cannot_be_read(
    tmp_path: Path, place: str
) -> None:
    made = tmp_path / "made.jsonl"
    said(tmp_path / "one", "demo", "anything")
    said(tmp_path / "one", "sessions", "export", "--format", "jsonl", "--out", str(made))
    whole = made.read_bytes()
    deep = b'{"seq":1,"session_id":"s","at":"2026-01-01T00:00:00Z","event":{"a":' + DEEP + b"}}\n"
    made.write_bytes(deep + whole if place == "the first line" else whole + deep)
    assert "could not be read" in said(tmp_path / "two", "sessions", "import", str(made))


def test_an_anchor_may_come_through_a_pipe(tmp_path: Path) -> None:
    out, into = os.pipe()
    os.write(into, b"not a head\n")
    os.close(into)
    told = said(tmp_path, "audit", "verify", "--anchor", f"/dev/fd/{out}")  # as the shell's `<(…)` is named
    os.close(out)
    assert "not a plain file" not in told and "anchor" in told


def test_a_revoked_tool_is_not_suggested_in_place_of_itself(tmp_path: Path) -> None:
    from tests.cli.audited import TOOL
    from tests.cli.records_lab import Records

    home = Records(tmp_path)
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    told = said(tmp_path, "tools", "run", TOOL, "--input", "{}")
    assert f"no tool {TOOL} to run" in told and "Did you mean" not in told and "alita tools history" in told
