"""What cannot be given to a task, and what is said of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from alita_tui.cli.given_files import check_file
from alita_tui.spine.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("pipe", "is a pipe or a device"),
        ("device", "is a pipe or a device"),
        ("folder", "is a folder"),
        ("", "no file"),
    ],
)
def test_what_is_there_and_no_file_is_not_said_to_be_missing(tmp_path: Path, kind: str, said: str) -> None:
    path = tmp_path / "given"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(UsageError, match=said) as refused:
        check_file(path, 8)
    assert str(path) in refused.value.message and refused.value.hint
