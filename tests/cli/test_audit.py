"""`alita audit`: what the log says, what it says when someone wrote in it, who approved a tool and seeing what."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from alita_tui.spine.errors import UsageError
from alita_tui.store.entry import AuditEntry
from tests.cli.audited import SESSION, TOOL, Shell
from tests.support import streams


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_the_audit_log_is_listed(shell: Shell) -> None:
    shown = shell.run("list").stdout
    assert TOOL in shown and "approved" in shown and streams.DIGEST[:12] in shown
    assert json.loads(shell.run("list", "--json").stdout)[0]["digest"] == streams.DIGEST
    assert json.loads(shell.run("list", "--tool", "other", "--json").stdout) == []


def test_a_tool_s_approval_is_explained_with_what_was_seen(shell: Shell) -> None:
    said = shell.run("explain", TOOL).stdout
    assert f"{TOOL} v1  provisional  sha256 {streams.DIGEST}" in said
    assert "its files are the ones that were approved" in said
    assert "approved by" in said and f"alita replay {SESSION}" in said
    assert "seen      self-tests: 3 of 3 passed" in said
    assert "seen      asks for: nothing" in said
    assert "packages: dnspython 2.8.0, email-validator 2.3.0, idna 3.11" in said
    told = json.loads(shell.run("explain", TOOL, "--json").stdout)
    assert told["entries"][0]["evidence"] and told["chain"] == []
    assert isinstance(shell.run("explain", "nobody").exception, UsageError)


def test_a_whole_log_verifies(shell: Shell) -> None:
    done = shell.run("verify")
    assert done.exit_code == 0
    assert "1 entries; the chain is whole" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b'"verdict":"approved"', b'"verdict":"rejected"'), ") was changed after it was written"),
        ((streams.DIGEST.encode(), b"0" * 64), ") was changed after it was written"),
        ((b'"evidence":["goal', b'"evidence":["Goal'), ") was changed after it was written"),
    ],
)
def test_an_entry_edited_by_hand_is_named(shell: Shell, change: tuple[bytes, bytes], said: str) -> None:
    path = shell.app.paths.audit
    raw = path.read_bytes()
    assert raw.count(change[0]) == 1
    path.write_bytes(raw.replace(*change))
    done = shell.run("verify")
    assert done.exit_code == 1
    assert said in done.stdout
    assert json.loads(shell.run("verify", "--json").stdout)["problems"]
    assert "not to be relied on" in shell.run("explain", TOOL).stdout


def test_a_truncated_audit_log_is_detected_by_the_session(shell: Shell) -> None:
    shell.app.audit.append(AuditEntry(
        who="ada", verdict="approved", digest="d" * 64, name="x", version=1, session_id=SESSION, approval_id="p9"
    ))  # fmt: skip
    path = shell.app.paths.audit
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    shown = shell.run("verify").stdout
    assert "does not follow the one before it" in shown
    path.write_bytes(b"")
    done = shell.run("verify")
    assert done.exit_code == 1
    assert f"session {SESSION}, event" in done.stdout and "is not in the log" in done.stdout
    assert "No approval of these bytes is in the log" in shell.run("explain", TOOL).stdout


def test_a_rewritten_audit_log_is_detected_by_the_session(shell: Shell) -> None:
    """Whoever rewrites the whole chain still contradicts what the session has on record."""
    (entry,) = shell.app.audit.entries()
    forged = msgspec.structs.replace(entry, who="mallory", hash="")
    forged = msgspec.structs.replace(forged, hash=forged.own_hash)
    shell.app.paths.audit.write_bytes(msgspec.json.encode(forged) + b"\n")
    done = shell.run("verify")
    assert done.exit_code == 1
    assert "entry 1 has another verdict than the session" in done.stdout


def test_changed_files_are_reported(shell: Shell) -> None:
    (code,) = shell.app.paths.mcp_box.rglob(f"v1/{TOOL}.py")
    code.write_text(code.read_text() + "# changed\n")
    assert "not the ones that were approved" in shell.run("explain", TOOL).stdout
