"""What a client is handed of the files that a call left: nothing with a secret in it, whatever kind of file it is."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from alita_tui.events import Artefact, BuildDigest, Lock, ToolRecord
from alita_tui.mcp_box.serve import results
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.serving import Answer
from alita_tui.spine.redaction import Redactor
from tests.support import mcp_lab as lab

SECRET = "correct-horse-battery-staple"
REDACTED = Redactor([("KEY", SECRET)]).text
PICTURE = bytes.fromhex(lab.PNG)


def file(name: str, media_type: str) -> Artefact:
    return Artefact(handle="f1", digest="0" * 64, name=name, media_type=media_type, size=1)


@pytest.mark.parametrize("coding", ["ascii", "utf-16-le", "utf-16-be", "utf-16", "utf-32"])
@pytest.mark.parametrize("before", [b"", b"\x00\xff", PICTURE, b"PK\x03\x04"])
def test_bytes_with_a_secret_are_not_handed_on(tmp_path: Path, coding: str, before: bytes) -> None:
    (tmp_path / "a").write_bytes(before + SECRET.encode(coding) + b"\xfe\x00")
    with pytest.raises(UsageError, match="holds a secret"):
        results.content_of(file("a.bin", "application/octet-stream"), tmp_path / "a", REDACTED)


def test_other_bytes_are_served_unchanged(tmp_path: Path) -> None:
    raw = bytes(range(256)) * 4000 + PICTURE
    (tmp_path / "a").write_bytes(raw)
    found = results.content_of(file("a.bin", "application/octet-stream"), tmp_path / "a", REDACTED)
    assert b64decode(found["blob"]) == raw


def test_a_picture_with_a_secret_is_left_out_of_an_answer(tmp_path: Path) -> None:
    chart = file("chart.png", "image/png")
    record = ToolRecord(
        draft=lab.ALL[0],
        version=1,
        digest=BuildDigest("0" * 64),
        state="provisional",
        lock=Lock(),
        approval_id="a1",
    )
    for extra, kinds in (
        (b"", ["text", "image", "resource_link"]),
        (SECRET.encode(), ["text", "resource_link"]),
    ):
        (tmp_path / "a").write_bytes(PICTURE + extra)
        answer = Answer(result="drawn", files=(chart,))
        said = results.answered(record, answer, [(chart, tmp_path / "a")], REDACTED)
        assert [block["type"] for block in said["content"]] == kinds
