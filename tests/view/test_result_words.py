"""The closed line of a run: words for any result, and never JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.events import RunReport
from alita_tui.events.tool import LeftFile
from alita_tui.view.result_words import result_words


def words(result: Any, *files: str) -> str:
    left = tuple(LeftFile(name=name, size=1) for name in files)
    return result_words(RunReport(status="ok", result=result, files=left))


@pytest.mark.parametrize(
    ("result", "files", "expected"),
    [
        (42, (), "42"),
        (True, (), "yes"),
        (None, (), "no result"),
        (None, ("chart.svg",), "chart.svg"),
        ("It is done.\n", (), "It is done."),
        ("", (), "''"),
        ([], (), "none"),
        ({}, (), "empty"),
        ([3, 5, 8], (), "3, 5, 8"),
        (list(range(40)), (), "0, 1, 2, 3, 4, 5 … 40 values"),
        ({"valid": True, "domain": "example.org"}, (), "valid: yes · domain: example.org"),
        ([{"region": "North", "sales": 12}] * 4, (), "4 rows, first: region North, sales 12"),
        ({"rows": [{"a": 1}], "total": 3}, (), "total: 3 · rows: 1 row, first: a 1"),
        ({"bars": 4, "file": "chart.svg"}, ("chart.svg",), "bars: 4 · file: chart.svg"),
        ({"bars": 4}, ("chart.svg", "notes.txt"), "bars: 4 · chart.svg, notes.txt"),
        ({"inner": {"a": 1, "b": [2]}}, (), "inner: 2 values"),
    ],
)
def test_a_result_is_shown_by_first_values_rows_and_files(result, files, expected) -> None:
    assert words(result, *files) == expected


_PLAIN = st.none() | st.booleans() | st.integers() | st.text("abc 123", max_size=20)
_RESULTS = st.recursive(
    _PLAIN,
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=8)
    ),
    max_leaves=30,
)


@given(_RESULTS)
def test_no_result_shows_as_json_or_as_nothing(result) -> None:
    line = words(result)
    assert line.strip()
    assert not set(line) & set('{}[]"\n')


def test_a_hostile_result_stays_one_short_line() -> None:
    line = words({"\x1b[2J": "\x1b]0;x\x07\nnext" * 500, "b\u202e": ["\x1b[31m"] * 9})
    assert line.isprintable() and len(line) < 700
    assert len(words(json.loads("[" * 400 + "]" * 400))) < 40
