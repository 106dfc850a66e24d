"""Lines, rows and bytes of files of any size, a page at a time."""

from __future__ import annotations

import csv
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.artefacts import records
from alita_tui.artefacts.records import (
    LONGEST_ROW,
    PIECE,
    Records,
    encoding_of,
    ends_of_lines,
    ends_of_rows,
    opened,
)
from alita_tui.artefacts.tables import MOST_COLUMNS, MOST_SORTED, Table, delimiter_of, flat_objects
from alita_tui.artefacts.texts import Bytes, Lines
from alita_tui.spine.errors import UsageError


def table(text: str | bytes, delimiter: str = ",") -> Table:
    made = Table(io.BytesIO(text if isinstance(text, bytes) else text.encode()), delimiter)
    while not made.extent.ended:
        made.look_further()
    return made


def cells(made: Table, first: int = 0, count: int = 1_000) -> list[list[str]]:
    return [list(row.cells) for row in made.page(first, count)]


def all_found(made: Records) -> Records:
    while not made.extent.ended:
        made.look_further()
    return made


WORDS = st.text(alphabet='ab,"\n;é ', max_size=12)


@given(st.lists(st.lists(WORDS, min_size=2, max_size=4), min_size=1, max_size=60), st.integers(40, 4_000))
@settings(max_examples=150)
def test_rows_equal_those_of_the_csv_module(rows: list[list[str]], chunk: int) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(rows)
    data = written.getvalue().encode()
    patched = pytest.MonkeyPatch()
    with patched.context() as patch:
        patch.setattr(records, "_CHUNK", chunk)
        patch.setattr(records, "LONGEST_ROW", 1_000)
        patch.setattr(records, "_BYTES_APART", 64)
        patch.setattr(records, "_RECORDS_APART", 3)
        found = all_found(Records(io.BytesIO(data), ends_of_rows(",")))
        assert found.extent == records.Extent(count=len(rows))
        for first in range(0, len(rows), 7):
            texts = [one.content.decode() for one in found.from_(first)]
            assert list(csv.reader(io.StringIO("".join(texts), newline=""))) == rows[first:]


@given(st.binary(max_size=3_000), st.integers(1, 900))
@settings(max_examples=150)
def test_the_pieces_of_any_file_add_up_to_the_file(data: bytes, chunk: int) -> None:
    patched = pytest.MonkeyPatch()
    with patched.context() as patch:
        patch.setattr(records, "_CHUNK", chunk)
        patch.setattr(records, "PIECE", 50)
        patch.setattr(records, "_BYTES_APART", 100)
        found = all_found(Records(io.BytesIO(data), ends_of_lines))
        whole = list(found.from_(0))
        bare = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
        assert b"".join(one.content for one in whole) == bare
        assert all(len(one.content) <= 50 and b"\n" not in one.content[:-1] for one in whole)
        assert [one.line for one in whole] == [
            bare[: one.offset - (len(data) - len(bare))].count(b"\n") for one in whole
        ]
        for first in range(0, len(whole), 5):
            assert list(found.from_(first)) == whole[first:]
        table(data)  # reads to an end, whatever it is


def test_quotation_marks_hold_line_ends_and_marks() -> None:
    made = table('name,note\n"a\nb","x,""y"""\n5" pipe,plain\r\n\n last , \n')
    assert made.head == ("name", "note")
    assert cells(made) == [["a b", 'x,"y"'], ['5" pipe', "plain"], [""], ["last", ""]]


@pytest.mark.parametrize(
    ("head", "mark"),
    [(b"a,b;c,d\n", ","), (b"a;b;c\n", ";"), (b"a\tb\n1,2,3", "\t"), (b'"x;y;z",b\n', ","), (b"alone\n", ","), (b"", ",")],
)  # fmt: skip
def test_the_delimiter_is_detected_in_the_first_line(head: bytes, mark: str) -> None:
    assert delimiter_of("text/csv", head) == mark
    assert delimiter_of("text/tab-separated-values", head) == "\t"


def test_columns_are_sorted_with_numbers_first_then_texts_then_empty_cells() -> None:
    made = table('k,v\n10,b\n9,a\n,c\n1e3,d\nx,e\n"1,200",f\n-3.5,g\nB,h\nnan,i\n')
    made.sort(0, descending=False)
    assert [row[0] for row in cells(made)] == ["-3.5", "9", "10", "1e3", "1,200", "B", "nan", "x", ""]
    made.sort(0, descending=True)
    assert [row[0] for row in cells(made)] == ["x", "nan", "B", "1,200", "1e3", "10", "9", "-3.5", ""]
    assert [row.label for row in made.page(0, 2)] == ["5", "9"]
    assert made.find("F", 0, 1) == (3, 3) and made.find("zzz", 0, 1) == (None, -1)
    made.unsort()
    assert [row[1] for row in cells(made)] == list("abcdefghi".replace("ab", "ba"))


def test_rows_are_found_in_both_directions() -> None:
    made = table("id,name\n" + "".join(f"{n},row {n % 1000}\n" for n in range(5_000)))
    assert made.find("ROW 999", 0, 1) == (999, 999)
    assert made.find("row 999", 1_000, 1) == (1_999, 1_999)
    assert made.find("row 999", 1_998, -1) == (999, 999)
    assert made.find("row 999", 998, -1) == (None, -1)
    assert made.find("name", 4_000, -1) == (None, -1)  # the header is no row
    assert made.find("nothing", 0, 1) == (None, -1)


def test_too_many_rows_are_not_sorted() -> None:
    made = Table(io.BytesIO(b"a\n" + b"1\n" * (MOST_SORTED + 1)), ",")
    with pytest.raises(UsageError, match="200,000"):
        made.sort(0, descending=False)


def test_hostile_tables_stay_small() -> None:
    wide = table(
        ",".join(f"c{n}" for n in range(10_000)) + "\n" + ",".join(["\x1b[31mred\x07\u202e"] * 10_000)
    )
    assert wide.columns == 10_000 and len(wide.head) == MOST_COLUMNS
    assert cells(wide)[0] == ["red"] * MOST_COLUMNS
    long_cell = table("a,b\n" + "x" * 100_000 + ",y\n")
    assert len(cells(long_cell)[0][0]) == 200
    unclosed = table('a,b\n1,2\n3,"' + "x\n" * LONGEST_ROW)
    assert unclosed.extent.count == 1 and "quotation mark" in unclosed.extent.problem
    assert cells(unclosed) == [["1", "2"]]
    assert cells(table("x" * (3 * LONGEST_ROW))) == []
    assert cells(table(b"\xff\xfe\x00\n\x00,\x01")) != []
    assert table("").extent.count == 0 and table("").head == ()


def test_a_large_table_is_read_only_as_far_as_shown_and_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    block = "".join(f'{n},name {n % 977},{n * 7 % 10_007 / 100},"some text, {n}"\n' for n in range(50_000))
    with path.open("w") as file:
        file.write("id,name,amount,note\n")
        for _ in range(6):
            file.write(block)
    tracemalloc.start()
    with path.open("rb") as content:
        made = Table(content, ",")
        assert len(made.page(0, 60)) == 60
        assert made.extent.count < 100_000
        while not made.extent.ended:
            made.look_further()
        assert made.extent == records.Extent(count=300_000)
        assert cells(made, 299_999) == [["49999", "name 172", "97.55", "some text, 49999"]]
        most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 6_000_000


def test_a_long_line_is_shown_in_pieces() -> None:
    made = Lines(io.BytesIO(b"first\r\n" + "é".encode() * PIECE + b"\nlast\n"))
    shown = made.page(0, 10)
    assert [row.label for row in shown] == ["1", "2", "", "", "3"]
    assert "".join(row.cells[0] for row in shown[1:4]) == "é" * PIECE
    assert made.page(2, 1)[0].label == ""
    assert made.find("LAST", 0, 1) == (4, 4)
    with pytest.raises(UsageError):
        made.sort(0, descending=False)


def test_lines_are_shown_without_control_characters() -> None:
    made = Lines(io.BytesIO(b"\x1b]8;;http://evil\x07link\x1b[2J\tx\xff\x85\x00y"))
    assert made.page(0, 1)[0].cells == ("link    x\ufffd\ufffdy",)


def test_bytes_are_shown_by_offset_in_hex_and_as_letters() -> None:
    data = bytes(range(256)) + b"needle"
    made = Bytes(io.BytesIO(data), len(data))
    assert made.extent.count == 17
    assert made.page(4, 1)[0].label == "00000040"
    assert made.page(4, 1)[0].cells[0] == "40 41 42 43 44 45 46 47  48 49 4a 4b 4c 4d 4e 4f"
    assert made.page(4, 1)[0].cells[1] == "@ABCDEFGHIJKLMNO"
    assert made.page(16, 9)[0].cells[1] == "needle"
    assert made.page(0, 1)[0].cells[1] == "·" * 16
    assert made.find("needle", 0, 1) == (16, 16) and made.find("needle", 16, -1) == (16, 16)
    assert made.find("@AB", 5, -1) == (4, 4) and made.find("@AB", 5, 1) == (None, -1)


def test_a_list_of_flat_objects_is_a_table() -> None:
    rows = [{"a": 1, "b": "x,\ny"}, {"b": None, "c": True, "a": 2.5}]
    content = flat_objects(rows)
    assert content is not None
    made = Table(content, ",")
    assert made.head == ("a", "b", "c") and cells(made) == [["1", "x, y", ""], ["2.5", "", "true"]]
    others: tuple[object, ...] = ([], {}, [1], [{"a": [1]}], [{"a": 1}, 2], "x", [{}], None)
    for other in others:
        assert flat_objects(other) is None


@pytest.mark.parametrize(
    ("data", "line"),
    [("grün\n".encode(), "grün"), ("grün\n".encode("latin-1"), "grün"), ("grün\n".encode("utf-16"), "grün"),
     ("grün\n".encode("utf-8-sig"), "grün")],
)  # fmt: skip
def test_texts_are_read_in_their_encoding(tmp_path: Path, data: bytes, line: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(data)
    with opened(path, data) as content:
        assert Lines(content, encoding_of(data)).page(0, 1)[0].cells == (line,)
