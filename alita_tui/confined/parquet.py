"""Parquet as JSON Lines: pyarrow (an extra) in a confined process, and the functions that start it and read from it.

The process gets only the open file. It writes rows as fast as they are read, so that memory stays limited. A line is an
object with the row's values, a string with the reason why the row has none, or a list with the reason why the file
cannot be read.
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
"""Longest row as JSON, in bytes."""
_MEMORY = 2 << 30
"""Bytes of address space; a page that decompresses to more ends the process."""
_BATCH = 256
"""Rows that are decoded at a time."""
_LONGEST_HEADER = 1 << 24
_BROKEN = "a part of it takes too much time or memory, or breaks the parser."
_QUIET = {
    "ARROW_DEFAULT_MEMORY_POOL": "system", "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip
"""Settings of pyarrow and numpy for a process that may start no threads."""


class Unreadable(Exception):
    """A Parquet file cannot be read; the message may come from the file."""


class NoParser(Unreadable):
    """pyarrow is not installed."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a file declares about itself; none of it has been verified."""

    columns: tuple[tuple[str, str], ...] = ()
    """Name of each column, with its type if it cannot be written as JSON, otherwise an empty text."""
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
    """Yield a stream of JSON Lines with these columns of a Parquet file's rows, from row `first` on. Raises Unreadable.

    It also raises on exit if the stream was read to its end but the process failed before it had written everything.
    """
    with _reading(file, json.dumps(list(names)), str(first)) as lines:
        yield lines


def value_of(line: bytes) -> dict[str, Any] | str:
    """Return the values of a row, or why it has none. Raises Unreadable if the file is damaged from here on."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # the process ended within the line
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
    """Filter: arguments are CPU seconds per batch, bytes of memory, then `header`, or the columns and the first row."""
    seconds, memory = map(int, sys.argv[1:3])
    os.environ.update(_QUIET)
    confine(resource.getrlimit(resource.RLIMIT_CPU)[1], memory)
    _allow_cpu_seconds(seconds)
    header_alone = sys.argv[3] == "header"
    try:
        parquet = _open_stdin()
        if header_alone:
            _write(msgspec.json.encode(_header(parquet)))
        else:
            for line in _lines(parquet, json.loads(sys.argv[3]), int(sys.argv[4]), seconds):
                _write(line)
    except BrokenPipeError:
        os._exit(1)  # the reader has closed the pipe
    except Exception as error:  # noqa: BLE001  # a hostile file may raise anything
        reason = str(error) or type(error).__name__
        _write(msgspec.json.encode(Header(problem=reason)) if header_alone else json.dumps([reason]).encode())
    sys.stdout.buffer.flush()


def _allow_cpu_seconds(seconds: int) -> None:
    """Allow this many seconds of processor time from now on, replacing the remaining time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard_limit = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until if hard_limit < 0 else min(until, hard_limit), hard_limit))


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")


def _open_stdin() -> Any:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    source = pyarrow.PythonFile(open(0, "rb", buffering=0, closefd=False), mode="r")
    # The buffers make pyarrow read a column in parts. Without extension types JSON is a string and a UUID is bytes.
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


def _lines(parquet: Any, names: Sequence[str], first_row: int, seconds: int) -> Iterator[bytes]:
    """Yield the rows from `first_row` on; row groups before it are not read. Raises ValueError if rows are missing."""
    readers = {field.name: _reader(field.type) for field in parquet.schema_arrow if field.name in names}
    sizes = [parquet.metadata.row_group(number).num_rows for number in range(parquet.metadata.num_row_groups)]
    rows_before, group = 0, 0
    while group < len(sizes) and rows_before + sizes[group] < first_row:
        rows_before, group = rows_before + sizes[group], group + 1
    groups = list(range(group, len(sizes)))
    row = rows_before
    for batch in parquet.iter_batches(_BATCH, row_groups=groups, columns=list(readers), use_threads=False):
        _allow_cpu_seconds(seconds)
        columns = [(name, batch.column(name), readers[name]) for name in readers]
        for index in range(max(first_row - 1 - row, 0), len(batch)):
            yield _line(columns, index)
        row += len(batch)
    if row != parquet.metadata.num_rows:
        raise ValueError(f"It says that it has {parquet.metadata.num_rows:,} rows, and has {row:,}.")


def _line(columns: Sequence[tuple[str, Any, Callable[[Any], Any]]], index: int) -> bytes:
    values = {}
    for name, column, reader in columns:
        try:
            scalar = column[index]
            if scalar.is_valid:
                values[name] = reader(scalar)
                json.dumps(values[name], allow_nan=False)
        except (ValueError, ArithmeticError, RecursionError) as error:
            return json.dumps(f"The column {name} has no JSON value here: {error}"[:1_000]).encode()
    line = json.dumps(values).encode()
    return line if len(line) < LONGEST else json.dumps(f"The row is longer than {LONGEST:,} bytes.").encode()


def _reader(arrow_type: Any) -> Callable[[Any], Any]:
    """Return a function that converts values of an Arrow type for JSON. Raises TypeError with the name of any other."""
    from pyarrow import types

    if types.is_timestamp(arrow_type):
        return lambda scalar: _timestamp_text(scalar.value, arrow_type.unit, zone=bool(arrow_type.tz))
    if types.is_date(arrow_type) or types.is_time(arrow_type):
        return lambda scalar: scalar.as_py().isoformat()
    if types.is_decimal(arrow_type):
        return lambda scalar: format(scalar.as_py(), "f")
    if types.is_dictionary(arrow_type):
        return _or_null(_reader(arrow_type.value_type), lambda scalar: scalar.value)
    if types.is_struct(arrow_type):
        fields = [(field.name, _or_null(_reader(field.type))) for field in arrow_type]
        return lambda scalar: {name: reader(scalar[name]) for name, reader in fields}
    if types.is_map(arrow_type):
        return _map(arrow_type)
    if types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type):
        item = _or_null(_reader(arrow_type.value_type))
        return lambda scalar: [item(value) for value in scalar.values]
    if types.is_floating(arrow_type):
        return lambda scalar: float(scalar.as_py())
    if types.is_boolean(arrow_type) or types.is_integer(arrow_type) or types.is_null(arrow_type):
        return lambda scalar: scalar.as_py()
    if types.is_string(arrow_type) or types.is_large_string(arrow_type):
        return lambda scalar: scalar.as_py()
    raise TypeError(str(arrow_type))


def _or_null(
    reader: Callable[[Any], Any], inner: Callable[[Any], Any] = lambda scalar: scalar
) -> Callable[[Any], Any]:
    def read(scalar: Any) -> Any:
        scalar = inner(scalar)
        return reader(scalar) if scalar.is_valid else None

    return read


def _map(arrow_type: Any) -> Callable[[Any], Any]:
    """Return a function that converts a map to an object. Raises TypeError if its keys are not strings."""
    from pyarrow import types

    if not types.is_string(arrow_type.key_type):
        raise TypeError(str(arrow_type))
    item = _or_null(_reader(arrow_type.item_type))

    def read(scalar: Any) -> Any:
        pairs = [(pair["key"].as_py(), item(pair["value"])) for pair in scalar.values]
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key of the map is there twice")
        return dict(pairs)

    return read


def _timestamp_text(value: int, unit: str, *, zone: bool) -> str:
    """Return a timestamp in ISO 8601; one with a time zone is in UTC and ends with Z."""
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]
    seconds, fraction = divmod(value, 10**digits)
    text = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()  # noqa: DTZ001  # the zone is added below
    return text + (f".{fraction:0{digits}}" if fraction else "") + ("Z" if zone else "")
