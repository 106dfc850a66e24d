"""What travels between machines names rows exactly, and what comes back is held to what was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alita_tui.mapping.cluster.orders import BadAnswer, encoded, ordered, read_answer, read_order
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import Row, opened, rows, rows_within

SCHEMA: Any = {"type": "object", "properties": {"n": {"type": "integer"}, "name": {"type": "string"}}}
FILES = {
    "in.jsonl": b'\xef\xbb\xbf{"n": 1}\r\n\n{"n": 2, "name": "caf\xc3\xa9"}\n[3]\nnonsense\n{"n": 4}\n\n\n{"n": 5}',
    "in.csv": '\ufeffn,name\r\n1,"a\r\nb"\r\n\r\n2,caf\xe9\r\n3,x,y\r\n4,"a" b\r\n5,"z"\n\n6,d'.encode(),
    "in.tsv": b"n\tname\n1\ta\n2\tb\tc\n3\t\xff\n4\t\n5\td\n",
}


@pytest.mark.parametrize("name", FILES)
def test_any_piece_of_a_file_gives_the_rows_that_the_whole_file_has_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    whole, given = list(rows(path, SCHEMA)), opened(path, SCHEMA)
    data = path.read_bytes()
    assert len(whole) >= 5 and whole[-1].end == len(data)
    for first in range(len(whole)):
        for last in range(first, len(whole)):
            order = read_order(encoded(ordered("d" * 64, given, whole[first : last + 1])))
            assert (order.first, order.rows) == (whole[first].number, last - first + 1)
            piece = data[order.start : order.end]
            found = rows_within(path, SCHEMA, data[: order.header], piece, order.first)
            assert [one[:3] for one in found] == [one[:3] for one in whole[first : last + 1]]


def test_an_order_covers_a_piece_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alita_tui.mapping.cluster.orders.PIECE_BYTES", 30)
    path = tmp_path / "in.jsonl"
    path.write_text('{"n": 1}\n{"n": 2}\n{"n": 3}\n{"n": 4}\n' + '{"name": "' + "x" * 99 + '"}\n')
    whole, given = list(rows(path, SCHEMA)), opened(path, SCHEMA)
    assert ordered("d" * 64, given, whole).rows == 3
    assert ordered("d" * 64, given, whole[4:]).rows == 1, "a longer row goes alone"


GOOD = '{"tool":"d","file":"/f.jsonl","header":0,"start":0,"end":9,"sha256":"s","first":1,"rows":1}'


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{}", None, b"{}", {"tool": "d"}, GOOD.replace('"end":9', '"end":0'),
        GOOD.replace('"start":0', '"start":-1'), GOOD.replace('"first":1', '"first":0'),
        GOOD.replace('"header":0', '"header":3'), GOOD.replace('"rows":1', '"rows":"1"'), "[" * 60_000,
        GOOD.replace('"d"', '"' + "d" * 70_000 + '"'),
    ],
)  # fmt: skip
def test_an_invalid_order_is_refused(text: object) -> None:
    assert read_order(GOOD).first == 1
    with pytest.raises((ValueError, RecursionError)):
        read_order(text)


ASKED = [Row(3, {"n": 3}), Row(5, {"n": 5}), Row(6, {"n": 6})]


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", None, object(), '{"outcomes":[]}', '{"outcomes":[{"row":4,"result":1}]}',
        '{"outcomes":[{"row":5,"result":1}]}', '{"outcomes":[{"row":3,"result":1},{"row":3,"result":1}]}',
        '{"outcomes":[{"row":3},{"row":5},{"row":6},{"row":7}]}', '{"outcomes":[{"row":3,"result":' + "[" * 90_000,
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_the_rows_is_refused(text: object) -> None:
    with pytest.raises(BadAnswer):
        read_answer(text, ASKED)


def test_an_answer_may_be_to_the_first_rows_alone_and_says_nothing_about_arguments() -> None:
    text = (
        '{"outcomes":[{"row":3,"result":{"x":1}},{"row":5,"reason":"a\\u001b[31m\\nb","arguments":{"n":99}}]}'
    )
    assert read_answer(text, ASKED).outcomes == (
        Outcome(row=3, result={"x": 1}), Outcome(row=5, reason="a b", arguments={"n": 5}),
    )  # fmt: skip
