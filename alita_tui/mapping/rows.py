"""The inputs of a map: JSON Lines with an object of arguments per line, or CSV or Parquet with named columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from alita_tui.confined import parquet
from alita_tui.events import Json, Value
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

LONGEST = 1 << 20
"""Longest line in bytes, or longest CSV field in characters."""
KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": ",", ".tsv": "\t", ".parquet": "parquet"}


class Row(NamedTuple):
    """One input."""

    number: int
    """Number from 1 of the line (JSON Lines), of the record after the header (CSV), or of the row (Parquet)."""
    arguments: dict[str, Json] | None
    problem: str = ""
    """Why it cannot be a call; empty if it can."""
    start: int = 0
    """Offset of its first byte in the file; for Parquet, in its rows as JSON Lines."""
    end: int = 0
    """Offset behind its last byte."""


class InputFile(Value, frozen=True):
    """A file of inputs, as it was when it was read."""

    path: str
    sha256: str
    lines: int
    """Number of line breaks, which is about the number of rows."""
    left_out: tuple[str, ...] = ()
    """Columns that are no parameters of the tool."""
    header: int = 0
    """Length of a table's header in bytes."""


def opened(path: Path, schema: Json) -> InputFile:
    """Return the description of a file of inputs. Raises UsageError, also if its header does not fit the tool."""
    if path.suffix.lower() not in KINDS:
        supported = ", ".join(KINDS)
        raise UsageError(
            f"{one_line(str(path))} is none of {supported}.", hint="Convert it to one of these first."
        )
    if path.exists() and not path.is_file():
        raise UsageError(
            f"{one_line(str(path))} is not a plain file.",
            hint="It is read more than once: write it to a file.",
        )
    if is_parquet(path):
        return _parquet_input_file(path, schema)
    try:
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
            file.seek(0)
            lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
        left_out: tuple[str, ...] = ()
        length = 0
        if KINDS[path.suffix.lower()] != "jsonl":
            with path.open(**_TEXT) as text:
                table = _Lines(text)
                header = next(_records(table, KINDS[path.suffix.lower()]), None)
            "".join(header or ()).encode()  # raises UnicodeError if it is not UTF-8
            left_out, length = _columns(path, header, schema), table.read
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{one_line(str(path))} cannot be read: {reason}.") from error
    return InputFile(path=str(path), sha256=digest, lines=lines, left_out=left_out, header=length)


def is_parquet(path: Path) -> bool:
    """Return True for a Parquet file, whose rows are not consecutive bytes."""
    return KINDS.get(path.suffix.lower()) == "parquet"


@contextmanager
def _parquet_errors() -> Iterator[None]:
    """Raise errors of the parser as UsageError."""
    try:
        yield
    except parquet.NoParser:
        raise UsageError(
            "Parquet files need pyarrow, which is not installed here.",
            hint="Install it: pip install 'alita-tui[parquet]'",
        ) from None
    except parquet.Unreadable as error:
        reason = one_line(str(error), 300)
        raise UsageError(f"The Parquet file cannot be read: {reason}") from error


def _parquet_input_file(path: Path, schema: Json) -> InputFile:
    """Return the description of a Parquet file. Raises UsageError, also if its columns do not fit the tool."""
    try:
        with path.open("rb") as file, _parquet_errors():
            digest = file_digest(file, "sha256").hexdigest()
            head = parquet.header(file)
    except OSError as error:
        raise UsageError(f"{one_line(str(path))} cannot be read: {error.strerror}.") from error
    left_out = _columns(path, [name for name, _type in head.columns], schema)
    for name, arrow_type in head.columns:
        if arrow_type and name not in left_out:
            raise UsageError(
                f"The column {one_line(name, 60)} is {one_line(arrow_type, 60)}, which has no form in JSON.",
                hint="Write it as text first, binary values in Base64 for example.",
            )
    return InputFile(path=str(path), sha256=digest, lines=head.rows, left_out=left_out)


def parquet_rows(file: BinaryIO, schema: Json, first: int) -> Generator[Row, None, None]:
    """Yield the rows of an open Parquet file from row `first` on. Raises UsageError if it is damaged."""
    types = _parameter_types(schema)

    def parsed(number: int, line: bytes) -> Row:
        value = parquet.value_of(line)
        if isinstance(value, str):
            return Row(number, None, one_line(value, 300))
        return Row(
            number, {name: _read(field, types[name]) for name, field in value.items() if name in types}
        )

    with _parquet_errors(), parquet.json_lines(file, list(types), first) as lines:
        yield from _from_lines(lines, first - 1, parsed)


def rows(path: Path, schema: Json) -> Iterator[Row]:
    """Yield the rows of a file, unusable ones with the reason. Raises OSError; UsageError for damaged Parquet."""
    file_format = KINDS[path.suffix.lower()]
    if file_format == "parquet":
        with path.open("rb") as file:
            yield from parquet_rows(file, schema, 1)
    elif file_format == "jsonl":
        with path.open("rb") as file:
            yield from _from_lines(file, 0)
    else:
        with path.open(**_TEXT) as text:
            yield from _from_table(text, file_format, schema, 0)


def rows_within(path: Path, schema: Json, header: bytes, body: bytes, first: int) -> Iterator[Row]:
    """Yield the rows in a part of a file, as `rows` does; `first` is the number of the first row."""
    file_format, file = KINDS[path.suffix.lower()], BytesIO(header + body)
    if file_format == "jsonl":
        return _from_lines(file, first - 1)
    return _from_table(TextIOWrapper(file, **_TEXT), file_format, schema, first - 1)


def _parsed(number: int, line: bytes) -> Row:
    try:
        arguments = json.loads(line.decode("utf-8-sig"), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return Row(number, None, f"The line is not JSON: {one_line(str(error), 200)}")
    if not isinstance(arguments, dict):
        return Row(number, None, "The line is not a JSON object of arguments.")
    return Row(number, arguments)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _from_lines(file: BinaryIO, number: int, parsed: Callable[[int, bytes], Row] = _parsed) -> Iterator[Row]:
    end = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        start, end = end, end + len(line)
        if len(line) > LONGEST:
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST)
                end += len(line)
            problem = f"The line is longer than {LONGEST:,} bytes."
            yield Row(number, None, problem, start, end)
        elif line.strip():
            yield parsed(number, line)._replace(start=start, end=end)


_TEXT: Any = {"newline": "", "encoding": "utf-8", "errors": "surrogateescape"}
"""How tables are read, so that a byte that is not UTF-8 affects only its own row."""


class _Lines:
    """Yields the lines of a table, and counts their bytes."""

    def __init__(self, text: Iterator[str]) -> None:
        self._text = text
        self.read = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._text)
        marked = not self.read and line.startswith("\ufeff")
        self.read += len(line.encode("utf-8", "surrogateescape"))
        return line[1:] if marked else line


def _from_table(text: Iterator[str], delimiter: str, schema: Json, rows_before: int) -> Iterator[Row]:
    types = _parameter_types(schema)
    lines = _Lines(text)
    records = _records(lines, delimiter)
    header = next(records, None)
    if not isinstance(header, list):
        return
    end = lines.read
    for number, record in enumerate(records, rows_before + 1):
        start, end = end, lines.read
        yield _row_of_record(number, record, header, types)._replace(start=start, end=end)


def _row_of_record(number: int, record: list[str] | str, header: list[str], types: dict[str, str]) -> Row:
    """Return a record as a row."""
    if isinstance(record, str):
        return Row(number, None, record)
    if len(record) != len(header):
        return Row(number, None, f"The row has {len(record)} fields, the header {len(header)}.")
    if any("\udc80" <= character <= "\udcff" for field in record for character in field):
        return Row(number, None, "The row is not UTF-8.")
    pairs = zip(header, record, strict=True)
    return Row(number, {name: _typed(text, types[name]) for name, text in pairs if name in types and text})


def _records(lines: Iterator[str] | Any, delimiter: str) -> Iterator[list[str] | str]:
    """Yield the records of a CSV file; for one that cannot be read, the reason."""
    limit_before = csv.field_size_limit(LONGEST)
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield f"The row is not CSV: {one_line(str(error), 200)}"
                continue
            if record:
                yield record
    finally:
        csv.field_size_limit(limit_before)


def _parameter_types(schema: Json) -> dict[str, str]:
    """Return the types of a tool's parameters by name; a type is empty if there is none or more than one."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    pairs = (
        (name, property_schema.get("type") if isinstance(property_schema, dict) else "")
        for name, property_schema in properties.items()
    )
    return {str(name): type_name if isinstance(type_name, str) else "" for name, type_name in pairs}


def _columns(path: Path, header: Sequence[str] | str | None, schema: Json) -> tuple[str, ...]:
    """Return the columns that are no parameters. Raises UsageError for missing and duplicate columns."""
    if not isinstance(header, Sequence) or isinstance(header, str):
        raise UsageError(f"{one_line(str(path))} has no header.", hint="Its first line names the parameters.")
    types = _parameter_types(schema)
    double = {name for name in header if header.count(name) > 1}
    required = schema.get("required") if isinstance(schema, dict) else None
    missing = (
        [str(name) for name in required or () if name not in header] if isinstance(required, list) else []
    )
    if double or missing:
        problem = (
            f"the column {one_line(min(double), 60)} twice"
            if double
            else f"no column {one_line(missing[0], 60)}"
        )
        takes = ", ".join(one_line(name, 60) for name in types) or "nothing"
        raise UsageError(f"{one_line(str(path))} has {problem}.", hint=f"The tool takes {takes}.")
    return tuple(name for name in header if name not in types)


def _read(value: Json, type_name: str) -> Json:
    return _typed(value, type_name) if isinstance(value, str) else value


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


_READERS: Mapping[str, Callable[[str], Json]] = {
    "integer": int, "number": float, "boolean": _boolean, "array": json.loads, "object": json.loads,
}  # fmt: skip


def _typed(text: str, type_name: str) -> Json:
    """Return a field converted to a parameter's type; unchanged if it cannot be, which the schema check reports."""
    try:
        return _READERS[type_name](text) if type_name in _READERS else text
    except (ValueError, KeyError, RecursionError):
        return text
