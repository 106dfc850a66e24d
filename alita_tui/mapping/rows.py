"""The inputs of a map: JSON Lines with an object of arguments a line, or CSV with a parameter a column."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from alita_tui.events import Json, Value
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

LONGEST = 1 << 20
"""Bytes of a line, or characters of a CSV field."""
KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": ",", ".tsv": "\t"}


class Row(NamedTuple):
    """One input."""

    number: int
    """The line of a JSON Lines file, or the record of a CSV file after its header; from 1."""
    arguments: dict[str, Json] | None
    problem: str = ""
    """Why it is no call; empty where it is one."""


class InputFile(Value, frozen=True):
    """A file of inputs as it is now."""

    path: str
    sha256: str
    lines: int
    """Line breaks in it: about as many rows."""
    left_out: tuple[str, ...] = ()
    """Columns that the tool does not take."""


def opened(path: Path, schema: Json) -> InputFile:
    """Return what a file is, once its header fits the tool. Raise UsageError."""
    if path.suffix.lower() not in KINDS:
        known = ", ".join(KINDS)
        raise UsageError(
            f"{one_line(str(path))} is none of {known}.", hint="Convert it to one of these first."
        )
    try:
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
            file.seek(0)
            lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
        left_out: tuple[str, ...] = ()
        if KINDS[path.suffix.lower()] != "jsonl":
            with path.open(newline="", encoding="utf-8-sig") as text:
                header = next(_records(text, KINDS[path.suffix.lower()]), None)
            left_out = _columns(path, header, schema)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{one_line(str(path))} cannot be read: {why}.") from error
    return InputFile(path=str(path), sha256=digest, lines=lines, left_out=left_out)


def rows(path: Path, schema: Json) -> Iterator[Row]:
    """Yield the rows of a file, the unusable ones with the reason. Raise OSError."""
    kind = KINDS[path.suffix.lower()]
    return _from_lines(path) if kind == "jsonl" else _from_table(path, kind, schema)


def _from_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                while line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST)
                yield Row(number, None, f"The line is longer than {LONGEST:,} bytes.")
            elif line.strip():
                yield _parsed(number, line)


def _parsed(number: int, line: bytes) -> Row:
    try:
        found = json.loads(line.decode("utf-8-sig"), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return Row(number, None, f"The line is no JSON: {one_line(str(error), 200)}")
    if not isinstance(found, dict):
        return Row(number, None, "The line is no JSON object of arguments.")
    return Row(number, found)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _from_table(path: Path, delimiter: str, schema: Json) -> Iterator[Row]:
    kinds = _kinds(schema)
    # A byte that is no UTF-8 spoils its own row and no other.
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        records = _records(file, delimiter)
        header = next(records, None)
        if not isinstance(header, list):
            return
        for number, record in enumerate(records, 1):
            if isinstance(record, str):
                yield Row(number, None, record)
            elif len(record) != len(header):
                yield Row(number, None, f"The row has {len(record)} fields, the header {len(header)}.")
            elif any("\udc80" <= character <= "\udcff" for field in record for character in field):
                yield Row(number, None, "The row is not UTF-8.")
            else:
                given = zip(header, record, strict=True)
                yield Row(
                    number,
                    {name: _typed(text, kinds[name]) for name, text in given if name in kinds and text},
                )


def _records(lines: Iterator[str] | Any, delimiter: str) -> Iterator[list[str] | str]:
    """Yield the records of a CSV file, and what is wrong with one that cannot be read."""
    before = csv.field_size_limit(LONGEST)
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield f"The row is no CSV: {one_line(str(error), 200)}"
                continue
            if record:
                yield record
    finally:
        csv.field_size_limit(before)


def _kinds(schema: Json) -> dict[str, str]:
    """Return the parameters of a tool with the type of each; empty where it is not said, or is one of several."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    said = ((name, one.get("type") if isinstance(one, dict) else "") for name, one in properties.items())
    return {str(name): kind if isinstance(kind, str) else "" for name, kind in said}


def _columns(path: Path, header: Sequence[str] | str | None, schema: Json) -> tuple[str, ...]:
    """Return the columns that the tool does not take. Raise UsageError for missing and double ones."""
    if not isinstance(header, Sequence) or isinstance(header, str):
        raise UsageError(f"{one_line(str(path))} has no header.", hint="Its first line names the parameters.")
    kinds = _kinds(schema)
    double = {name for name in header if header.count(name) > 1}
    required = schema.get("required") if isinstance(schema, dict) else None
    missing = (
        [str(name) for name in required or () if name not in header] if isinstance(required, list) else []
    )
    if double or missing:
        what = (
            f"the column {one_line(min(double), 60)} twice"
            if double
            else f"no column {one_line(missing[0], 60)}"
        )
        takes = ", ".join(one_line(name, 60) for name in kinds) or "nothing"
        raise UsageError(f"{one_line(str(path))} has {what}.", hint=f"The tool takes {takes}.")
    return tuple(name for name in header if name not in kinds)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


_READERS: Mapping[str, Callable[[str], Json]] = {
    "integer": int, "number": float, "boolean": _truth, "array": json.loads, "object": json.loads,
}  # fmt: skip


def _typed(text: str, kind: str) -> Json:
    """Return a field as a parameter of this type; as text where it is none, which the schema then says."""
    try:
        return _READERS[kind](text) if kind in _READERS else text
    except (ValueError, KeyError, RecursionError):
        return text
