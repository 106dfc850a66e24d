"""Parquet as a map reads it: values as JSON, ranges of rows for other machines, and files that were made to do harm."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Generator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from alita_tui.mapping.cluster.orders import calls_digest, encoded, ordered, parquet_calls, read_order
from alita_tui.mapping.rows import LONGEST, opened, rows
from alita_tui.spine.errors import UsageError

pyarrow: Any = pytest.importorskip(
    "pyarrow", reason="pyarrow is an extra: pip install 'alita-tui[parquet]'; `make jobs` does"
)
import pyarrow.parquet as pq  # noqa: E402


def schema(**kinds: str) -> Any:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}}


def written(path: Path, table: Any, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


def one_value(tmp_path: Path, values: list[Any], kind: Any, parameter: str) -> list[Any]:
    """Return what a tool with one parameter of a type is given for the values of a column, or the reason."""
    path = written(tmp_path / "in.parquet", pyarrow.table({"v": pyarrow.array(values, kind)}))
    takes = schema(v=parameter)
    opened(path, takes)
    return [row.problem or row.arguments for row in rows(path, takes)]


a = pyarrow


VALUES: list[tuple[Any, Any, str, Any]] = [
    (a.int64(), -(2**63), "integer", -(2**63)),
    (a.uint64(), 2**64 - 1, "integer", 2**64 - 1),
    (a.bool_(), True, "boolean", True),
    (a.float32(), 0.5, "number", 0.5),
    (a.float16(), 0.5, "number", 0.5),
    (a.string(), "café \x1b[31m", "string", "café \x1b[31m"),
    (a.large_string(), "x", "string", "x"),
    (a.dictionary(a.int32(), a.string()), "x", "string", "x"),
    (a.date32(), date(2026, 1, 2), "string", "2026-01-02"),
    (a.time64("us"), 1_500_000, "string", "00:00:01.500000"),
    (a.timestamp("ns"), 1, "string", "1970-01-01T00:00:00.000000001"),
    (a.timestamp("us"), -999_995, "string", "1969-12-31T23:59:59.000005"),
    (a.timestamp("ms", "Europe/Berlin"), datetime(2026, 1, 2, 3, tzinfo=UTC), "string", "2026-01-02T03:00:00Z"),
    (a.timestamp("us", "+02:00"), datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "string", "2026-01-02T01:00:00Z"),
    (a.decimal128(20, 2), Decimal("123456789012345678.90"), "string", "123456789012345678.90"),
    (a.decimal128(5, 2), Decimal("12.50"), "number", 12.5),
    (a.decimal128(9, 0), Decimal(12), "integer", 12),
    (a.decimal128(9, 8), Decimal("0.00000001"), "string", "0.00000001"),
    (a.string(), "[1, 2]", "array", [1, 2]),
    (a.list_(a.list_(a.int8())), [[1, None], None, []], "array", [[1, None], None, []]),
    (a.list_(a.int8(), 2), [1, 2], "array", [1, 2]),
    (a.struct([("t", a.timestamp("s")), ("n", a.int8())]), {"t": 0, "n": None}, "object", {"t": "1970-01-01T00:00:00", "n": None}),
    (a.map_(a.string(), a.list_(a.decimal128(4, 1))), [("k", [Decimal("1.5")])], "object", {"k": ["1.5"]}),
]  # fmt: skip
"""Arrow types with a value, the type of the parameter, and what the tool is given."""


def test_values_are_given_as_json_and_a_null_is_not_given(tmp_path: Path) -> None:
    columns = {f"v{at}": pyarrow.array([None, value], kind) for at, (kind, value, _, _) in enumerate(VALUES)}
    path = written(tmp_path / "in.parquet", pyarrow.table(columns))
    takes = schema(**{f"v{at}": parameter for at, (_, _, parameter, _) in enumerate(VALUES)})
    assert opened(path, takes).left_out == ()
    nothing, given = (row.arguments for row in rows(path, takes))
    assert nothing == {} and given == {f"v{at}": expected for at, (*_, expected) in enumerate(VALUES)}


@pytest.mark.parametrize(
    ("kind", "values", "parameter"),
    [
        (a.float64(), [float("nan"), float("inf"), 1.0], "number"),
        (a.list_(a.float64()), [[float("-inf")], [float("nan")], [1.0]], "array"),
        (a.timestamp("ms"), [2**62, -(2**62), 0], "string"),
        (a.map_(a.string(), a.int8()), [[("k", 1), ("k", 2)], [("k", 1), ("k", 1)], [("k", 1)]], "object"),
        (a.string(), ["x" * LONGEST, "é" * LONGEST, "x"], "string"),
    ],
    ids=str,
)
def test_a_value_without_a_json_form_costs_its_own_row(
    tmp_path: Path, kind: Any, values: list[Any], parameter: str
) -> None:
    first, second, last = one_value(tmp_path, values, kind, parameter)
    for reason in (first, second):
        assert "column v has no JSON value" in reason or "longer than" in reason
    assert isinstance(last, dict)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (a.binary(), b"\0"), (a.binary(3), b"abc"), (a.duration("s"), 1), (a.list_(a.binary()), [b"x"]),
        (a.map_(a.int8(), a.int8()), [(1, 1)]), (a.struct([("b", a.large_binary())]), {"b": b"x"}),
    ],
    ids=str,
)  # fmt: skip
def test_a_column_without_a_json_form_is_refused_by_name_if_the_tool_takes_it(
    tmp_path: Path, kind: Any, value: object
) -> None:
    path = tmp_path / "in.parquet"
    written(path, pyarrow.table({"v": pyarrow.array([value], kind), "n": [1]}))
    with pytest.raises(UsageError, match="column v is .*no form in JSON"):
        opened(path, schema(v="string", n="integer"))
    assert opened(path, schema(n="integer")).left_out == ("v",)
    assert [row.arguments for row in rows(path, schema(n="integer"))] == [{"n": 1}]


def test_a_table_without_the_columns_of_the_tool_is_refused_at_once(tmp_path: Path) -> None:
    path = written(tmp_path / "in.parquet", pyarrow.table({"x": [1]}))
    with pytest.raises(UsageError, match="has no column n"):
        opened(path, {**schema(n="integer"), "required": ["n"]})
    assert [row.arguments for row in rows(path, schema(n="integer"))] == [{}]
    double = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["n", "n"])
    with pytest.raises(UsageError, match="the column n twice"):
        opened(written(path, double), schema(n="integer"))


def test_names_that_act_on_a_terminal_are_shown_without_effect(tmp_path: Path) -> None:
    name = "\x1b[2Jn\u202e"
    path = written(tmp_path / "in.parquet", pyarrow.table({name: [b"x"]}))
    with pytest.raises(UsageError) as refused:
        opened(path, schema(**{name: "string"}))
    assert "\x1b" not in str(refused.value) and "\u202e" not in str(refused.value)


def test_any_range_of_rows_gives_the_rows_that_the_whole_file_has_there(tmp_path: Path) -> None:
    values = [1.0, float("nan"), None, 4.5, 5.0, float("inf"), 7.0]
    table = pyarrow.table({"n": values, "s": [f"é{n}" for n in range(7)]})
    path, takes = written(tmp_path / "in.parquet", table, row_group_size=3), schema(n="number", s="string")
    given = opened(path, takes)
    calls = [row for row in rows(path, takes) if not row.problem]
    assert [row.number for row in calls] == [1, 3, 4, 5, 7] and given.lines == 7
    for first, last in ((0, 4), (1, 3), (2, 2), (4, 4)):
        order = read_order(encoded(ordered("d" * 64, given, calls[first : last + 1])))
        with path.open("rb") as file:
            there = parquet_calls(file, takes, order)
        assert [row[:2] for row in there] == [row[:2] for row in calls[first : last + 1]]
        assert calls_digest(there) == order.sha256
    written(path, table.set_column(0, "n", pyarrow.array([9.0] * 7)))
    with path.open("rb") as file:
        assert calls_digest(parquet_calls(file, takes, order)) != order.sha256, "another file is noticed"


def damaged(path: Path, change: Callable[[bytes], bytes]) -> Path:
    written(path, pyarrow.table({"n": list(range(5_000))}), compression="NONE", use_dictionary=False)
    path.write_bytes(change(path.read_bytes()))
    return path


def claims(count: int) -> Callable[[bytes], bytes]:
    """Return what lets a file claim a number of rows; every place of the footer that says 5,000 is changed."""

    def zigzag(number: int) -> bytes:
        number, out = number << 1, b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    def change(body: bytes) -> bytes:
        length = struct.unpack("<I", body[-8:-4])[0]
        data, footer = body[: -8 - length], body[-8 - length : -8]
        assert zigzag(5_000) in footer
        footer = footer.replace(zigzag(5_000), zigzag(count))
        return data + footer + struct.pack("<I", len(footer)) + b"PAR1"

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda body: b"", lambda body: b"n\n1\n", lambda body: body[:-100], lambda body: body[:50] + body[-900:],
        lambda body: body[:-4] + b"PARE", lambda body: body[:-8] + b"\xff\xff\xff\x7fPAR1",
        lambda body: body[:4] + b"\xff" * 200 + body[204:], claims(2**40), claims(2**60), claims(6_000),
    ],
    ids=["empty", "text", "cut", "without-pages", "encrypted", "footer-length", "page-header", "tera", "exa", "more"],
)  # fmt: skip
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = damaged(tmp_path / "in.parquet", change)
    with pytest.raises(UsageError, match="The Parquet file cannot be read: .{10}") as refused:
        opened(path, schema(n="integer"))
        list(rows(path, schema(n="integer")))
    assert refused.value.message.isprintable() and len(refused.value.message) < 400


def test_a_page_that_unpacks_to_gigabytes_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    huge = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 64, pyarrow.int32()), ["x" * (1 << 28)])
    bomb = pyarrow.table({"s": huge})
    written(
        path,
        bomb,
        compression="ZSTD",
        store_schema=False,
        dictionary_pagesize_limit=1 << 30,
        write_statistics=False,
    )
    assert path.stat().st_size < 1 << 20
    # What is measured is another process: the one that wrote the file was large.
    reader = (
        "import resource, sys; from pathlib import Path; from alita_tui.mapping.rows import rows\n"
        "from alita_tui.spine.errors import UsageError\n"
        "try: print([row.problem for row in rows(Path(sys.argv[1]), {'properties': {'s': {'type': 'string'}}})])\n"
        "except UsageError as error: print(error.message)\n"
        "who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)\n"
        "print(max(resource.getrusage(which).ru_maxrss for which in who) // 1024)"
    )
    done = subprocess.run((sys.executable, "-c", reader, path), capture_output=True, text=True, check=True)
    said, megabytes = done.stdout.splitlines()
    assert "cannot be read" in said, said
    assert int(megabytes) < 2_048


def test_memory_does_not_grow_with_rows_and_an_unread_parser_ends_with_its_reader(
    tmp_path: Path,
) -> None:
    path = tmp_path / "in.parquet"
    with pq.ParquetWriter(path, pyarrow.schema([("n", pyarrow.int64()), ("s", pyarrow.string())])) as writer:
        for start in range(0, 1_000_000, 100_000):
            numbers = list(range(start, start + 100_000))
            writer.write_table(pyarrow.table({"n": numbers, "s": [f"{n:0100}" for n in numbers]}))
    takes = schema(n="integer", s="string")
    reading = rows(path, takes)
    assert next(reading).arguments == {"n": 0, "s": "0" * 100}
    [child] = children()
    status = Path(f"/proc/{child}/status").read_text()
    assert "NoNewPrivs:\t1" in status and "Threads:\t1\n" in status, "it was confined before it parsed"
    assert os.readlink(f"/proc/{child}/ns/net") != os.readlink("/proc/self/ns/net"), "it has no network"
    most = 0
    for row in reading:
        if row.number % 100_000 == 0:
            most = max(most, memory(child))
        if row.number == 300_000:
            break
    assert 0 < most < 400 << 20
    assert isinstance(reading, Generator)
    reading.close()
    assert not children()


def children() -> list[int]:
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in found if b"confined.parquet" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def memory(pid: int) -> int:
    line = next(
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1]) * 1024


def test_a_parser_that_is_killed_never_looks_like_the_end_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "in.parquet", pyarrow.table({"n": list(range(500_000))}))
    reading = rows(path, schema(n="integer"))
    next(reading)
    os.kill(children()[0], signal.SIGKILL)
    with pytest.raises(UsageError, match="breaks the parser"):
        list(reading)
