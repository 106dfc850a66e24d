"""Files of inputs as people have them: broken lines cost their own row and say why, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from alita_tui.mapping.rows import LONGEST, opened, rows
from alita_tui.spine.errors import UsageError

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"}, "x": {"type": "number"}, "on": {"type": "boolean"}, "name": {"type": "string"},
        "tags": {"type": "array"}, "any": {},
    },
    "required": ["n"],
}  # fmt: skip


def read(path: Path) -> list[tuple[int, Any, str]]:
    return [(row.number, row.arguments, row.problem) for row in rows(path, SCHEMA)]


def test_json_lines_are_rows_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"n": 1}\r\n\n{"n": 2, "name": "caf\xc3\xa9"}\n[3]\nnonsense\n{"n": NaN}\n'
        + b'{"n": ' + b"[" * 100_000 + b"\n"
        + b'{"name": "' + b"x" * (2 * LONGEST) + b'"}\n'
        + b'{"n": "\xff"}\n{"n": 9}'
    )  # fmt: skip
    found = read(path)
    assert [(number, given) for number, given, _ in found if given] == [
        (1, {"n": 1}), (3, {"n": 2, "name": "café"}), (10, {"n": 9}),
    ]  # fmt: skip
    reasons = {number: why for number, given, why in found if given is None}
    assert {*reasons} == {4, 5, 6, 7, 8, 9} and all(reasons.values())
    assert "longer than" in reasons[8] and "not a JSON object" in reasons[4]
    assert opened(path, SCHEMA).lines == 9


def test_a_table_gives_each_parameter_its_type(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(
        'n,x,on,name,tags,any,extra\n1,2.5,TRUE,"a, b","[1]",7,e\n2,,,,,,\nfour,no,maybe,"two\nlines",[,,\n'
    )
    assert read(path) == [
        (1, {"n": 1, "x": 2.5, "on": True, "name": "a, b", "tags": [1], "any": "7"}, ""),
        (2, {"n": 2}, ""),
        (3, {"n": "four", "x": "no", "on": "maybe", "name": "two\nlines", "tags": "["}, ""),
    ]
    assert opened(path, SCHEMA).left_out == ("extra",)


def test_a_broken_row_of_a_table_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "in.tsv"
    path.write_bytes(b'n\tname\n1\ta\n2\tb\tc\n3\t"a" b\n4\t\xff\n5\td\n')
    found = read(path)
    assert [number for number, given, _ in found if given] == [1, 5]
    assert (
        "has 3 fields, the header 2" in found[1][2]
        and "not CSV" in found[2][2]
        and "not UTF-8" in found[3][2]
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("in.csv", "name\na\n", "has no column n"),
        ("in.csv", "n,n\n1,2\n", "the column n twice"),
        ("in.csv", "", "has no header"),
        ("in.xlsx", "n\n1\n", "is none of .jsonl"),
        ("gone.csv", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_one_is_refused_at_once(
    tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=said):
        opened(tmp_path / name, SCHEMA)


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.parquet"])
def test_a_pipe_is_refused_without_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match="is not a plain file"):
        opened(tmp_path / name, SCHEMA)
