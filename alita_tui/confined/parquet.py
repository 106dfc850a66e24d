"""Parquet as JSON Lines: pyarrow, an extra, in a process without any access, and what starts it and reads from it.

The process is given the open file alone. It writes a line a row while it is read, so that memory is bounded. A line is
an object of values, a text that says why the row has none, or a list with the reason why the file cannot be read.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import Any, BinaryIO, cast

import msgspec

from alita_tui.confined.limits import confine
from alita_tui.confined.run import stream

LONGEST = 1 << 20
"""Bytes of a row as JSON."""
_MEMORY = 2 << 30
"""Of the address space; a page that unpacks to more ends the process."""
_BATCH = 256
"""Rows that are unpacked at a time."""
_LONGEST_HEADER = 1 << 24
_BROKEN = "a part of it takes too much time or memory, or breaks the parser."
_QUIET = {
    "ARROW_DEFAULT_MEMORY_POOL": "system", "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip
"""pyarrow and numpy without threads: the process may start none."""


class Unreadable(Exception):
    """Why a Parquet file cannot be read; the text may come from the file."""


class NoParser(Unreadable):
    """pyarrow is not installed."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says of itself; nothing of it has been proved."""

    columns: tuple[tuple[str, str], ...] = ()
    """Their names, and the types of those that have no form in JSON; the type is empty for the others."""
    rows: int = 0
    problem: str = ""


def header(file: BinaryIO) -> Header:
    """Return the header of a Parquet file. Raises Unreadable."""
    with _reading(file, "header") as lines:
        line = lines.readline(_LONGEST_HEADER)
        if line and not line.endswith(b"\n"):
            raise Unreadable(_BROKEN)
    try:
        head = msgspec.json.decode(line, type=Header)
    except msgspec.DecodeError:
        head = Header(problem=_BROKEN)
    if head.problem:
        raise Unreadable(head.problem)
    return head


@contextmanager
def json_lines(file: BinaryIO, names: Sequence[str], first: int) -> Iterator[BinaryIO]:
    """Give the rows of a Parquet file from row `first` on as JSON Lines, with these columns. Raises Unreadable.

    What is read to its end and was not written to its end raises, too.
    """
    with _reading(file, json.dumps(list(names)), str(first)) as lines:
        yield lines


def value_of(line: bytes) -> dict[str, Any] | str:
    """Return the values of a row, or why it has none. Raises Unreadable if the file ends with it, damaged."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # the process ended within it
        raise Unreadable(_BROKEN) from None
    if isinstance(value, (dict, str)):
        return value
    raise Unreadable(str(value[0]) if isinstance(value, list) and value else _BROKEN)


@contextmanager
def _reading(file: BinaryIO, *arguments: str) -> Iterator[BinaryIO]:
    if find_spec("pyarrow") is None:
        raise NoParser
    process = stream("alita_tui.confined.parquet", arguments, file, _MEMORY)
    lines = cast(BinaryIO, process.stdout)
    try:
        yield lines
        if process.wait() != 0:
            raise Unreadable(_BROKEN)
    finally:
        process.kill()
        process.wait()
        lines.close()


def main() -> None:
    """Filter: arguments are CPU seconds for a batch of rows, bytes of memory, then `header`, or columns and a row."""
    seconds, memory = map(int, sys.argv[1:3])
    os.environ.update(_QUIET)
    confine(resource.getrlimit(resource.RLIMIT_CPU)[1], memory)
    _allow(seconds)
    header_alone = sys.argv[3] == "header"
    try:
        parquet = _opened()
        if header_alone:
            _write(msgspec.json.encode(_header(parquet)))
        else:
            for line in _lines(parquet, json.loads(sys.argv[3]), int(sys.argv[4]), seconds):
                _write(line)
    except BrokenPipeError:
        os._exit(1)  # nobody reads any more
    except Exception as error:  # noqa: BLE001  # a hostile file may raise anything
        why = str(error) or type(error).__name__
        _write(msgspec.json.encode(Header(problem=why)) if header_alone else json.dumps([why]).encode())
    sys.stdout.buffer.flush()


def _allow(seconds: int) -> None:
    """Allow this many seconds of processor time from now on, in place of what was left."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until if most < 0 else min(until, most), most))


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")


def _opened() -> Any:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    source = pyarrow.PythonFile(open(0, "rb", buffering=0, closefd=False), mode="r")
    # buffer_size and pre_buffer: a column is read piece by piece. JSON is text and a UUID is bytes, not an extension.
    return ParquetFile(source, buffer_size=1 << 20, pre_buffer=False, arrow_extensions_enabled=False)


def _header(parquet: Any) -> Header:
    columns = []
    for field in parquet.schema_arrow:
        try:
            _reader(field.type)
            columns.append((field.name, ""))
        except TypeError as error:
            columns.append((field.name, str(error)))
    return Header(columns=tuple(columns), rows=max(parquet.metadata.num_rows, 0))


def _lines(parquet: Any, names: Sequence[str], first: int, seconds: int) -> Iterator[bytes]:
    """Yield the rows from `first` on; groups of rows before it are not read. Raises ValueError for missing rows."""
    readers = {field.name: _reader(field.type) for field in parquet.schema_arrow if field.name in names}
    sizes = [parquet.metadata.row_group(number).num_rows for number in range(parquet.metadata.num_row_groups)]
    before, group = 0, 0
    while group < len(sizes) and before + sizes[group] < first:
        before, group = before + sizes[group], group + 1
    groups = list(range(group, len(sizes)))
    row = before
    for batch in parquet.iter_batches(_BATCH, row_groups=groups, columns=list(readers), use_threads=False):
        _allow(seconds)
        columns = [(name, batch.column(name), readers[name]) for name in readers]
        for place in range(max(first - 1 - row, 0), len(batch)):
            yield _line(columns, place)
        row += len(batch)
    if row != parquet.metadata.num_rows:
        raise ValueError(f"It says that it has {parquet.metadata.num_rows:,} rows, and has {row:,}.")


def _line(columns: Sequence[tuple[str, Any, Callable[[Any], Any]]], place: int) -> bytes:
    values = {}
    for name, column, reader in columns:
        try:
            scalar = column[place]
            if scalar.is_valid:
                values[name] = reader(scalar)
                json.dumps(values[name], allow_nan=False)
        except (ValueError, ArithmeticError, RecursionError) as error:
            return json.dumps(f"The column {name} has no JSON value here: {error}"[:1_000]).encode()
    line = json.dumps(values).encode()
    return line if len(line) < LONGEST else json.dumps(f"The row is longer than {LONGEST:,} bytes.").encode()


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what makes JSON of a value of an Arrow type. Raises TypeError that names a type without a form in JSON."""
    from pyarrow import types

    if types.is_timestamp(kind):
        return lambda scalar: _instant(scalar.value, kind.unit, zone=bool(kind.tz))
    if types.is_date(kind) or types.is_time(kind):
        return lambda scalar: scalar.as_py().isoformat()
    if types.is_decimal(kind):
        return lambda scalar: format(scalar.as_py(), "f")
    if types.is_dictionary(kind):
        return _or_null(_reader(kind.value_type), lambda scalar: scalar.value)
    if types.is_struct(kind):
        fields = [(field.name, _or_null(_reader(field.type))) for field in kind]
        return lambda scalar: {name: reader(scalar[name]) for name, reader in fields}
    if types.is_map(kind):
        return _map(kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        item = _or_null(_reader(kind.value_type))
        return lambda scalar: [item(value) for value in scalar.values]
    if types.is_floating(kind):
        return lambda scalar: float(scalar.as_py())
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_null(kind):
        return lambda scalar: scalar.as_py()
    if types.is_string(kind) or types.is_large_string(kind):
        return lambda scalar: scalar.as_py()
    raise TypeError(str(kind))


def _or_null(
    reader: Callable[[Any], Any], inner: Callable[[Any], Any] = lambda scalar: scalar
) -> Callable[[Any], Any]:
    def read(scalar: Any) -> Any:
        scalar = inner(scalar)
        return reader(scalar) if scalar.is_valid else None

    return read


def _map(kind: Any) -> Callable[[Any], Any]:
    """Return what makes an object of a map. Raises TypeError if its keys are no texts."""
    from pyarrow import types

    if not types.is_string(kind.key_type):
        raise TypeError(str(kind))
    item = _or_null(_reader(kind.item_type))

    def read(scalar: Any) -> Any:
        pairs = [(pair["key"].as_py(), item(pair["value"])) for pair in scalar.values]
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key of the map is there twice")
        return dict(pairs)

    return read


def _instant(value: int, unit: str, *, zone: bool) -> str:
    """Return a timestamp in the form of ISO 8601; one with a time zone in UTC."""
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]
    seconds, part = divmod(value, 10**digits)
    text = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()  # noqa: DTZ001  # the zone is added below
    return text + (f".{part:0{digits}}" if part else "") + ("Z" if zone else "")
