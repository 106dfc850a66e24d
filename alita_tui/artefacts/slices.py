"""A part of an artefact or of a result, as a model or a person asks for it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from alita_tui.events.base import Value
from alita_tui.spine.errors import UsageError

MOST = 6_000
"""Characters of one slice."""
_MATCHES = 20
_LONGEST_LINE = 500
_PIECE = 1 << 16
"""Characters of a line that are held at once: a file may be one line."""
_LONGEST_ROW_LINE = 1 << 20
_RANGE = re.compile(r"\s*(\d+)\s*(?:[-:]\s*(\d+)\s*)?")


def at_pointer(value: Any, pointer: str) -> Any:
    """Return the part of a JSON value that a JSON pointer (RFC 6901) names. Raise UsageError."""
    if pointer in ("", "/") and pointer == "":
        return value
    if not pointer.startswith("/"):
        raise UsageError(
            f"{pointer[:80]!r} is not a JSON pointer.", hint="It begins with a slash: /rows/0/name."
        )
    current = value
    for number, raw in enumerate(pointer[1:].split("/"), 1):
        key = raw.replace("~1", "/").replace("~0", "~")
        walked = "/".join(pointer.split("/")[: number + 1])
        if isinstance(current, dict):
            if key not in current:
                keys = ", ".join(list(map(str, current))[:12])
                raise UsageError(f"There is nothing at {walked[:120]}.", hint=f"There is: {keys}")
            current = current[key]
        elif isinstance(current, list):
            if not re.fullmatch(r"0|[1-9]\d*", key) or int(key) >= len(current):
                raise UsageError(
                    f"There is nothing at {walked[:120]}.", hint=f"The list has {len(current)} entries."
                )
            current = current[int(key)]
        else:
            raise UsageError(
                f"There is nothing at {walked[:120]}: what is above it is neither object nor list."
            )
    return current


class Part(Value, frozen=True):
    """The part of a file to show; by default the first forty lines of a text."""

    pointer: str = ""
    """A JSON pointer, for a value alone."""
    lines: str = ""
    rows: str = ""
    search: str = ""


def part_of_value(value: Any, part: Part) -> str:
    """Return a part of a JSON value as text. Raise UsageError."""
    text = json_text(at_pointer(value, part.pointer))
    return part_of_text(io.StringIO(text), part) if part.lines or part.search else text


def part_of_file(path: Path, kind: str, part: Part) -> str:
    """Return a part of a text file of this media type. Raise UsageError, OSError."""
    newline = "" if part.rows else None  # the table's reader needs line ends unchanged
    with path.open(encoding="utf-8-sig", errors="replace", newline=newline) as content:
        return part_of_text(content, part, "\t" if kind == "text/tab-separated-values" else ",")


def part_of_text(content: TextIO, part: Part, delimiter: str = ",") -> str:
    """Return lines, rows or matches of a text, however long its lines are. Raise UsageError."""
    if part.rows:
        return _rows(content, part.rows, delimiter)
    return _matches(content, part.search) if part.search else _lines(content, part.lines or "1-40")


class _Piece(NamedTuple):
    """A piece of a line, without the line's end."""

    number: int
    """The line's, from 1."""
    text: str


def _pieces(content: TextIO) -> Iterator[_Piece]:
    number, complete = 1, True
    while piece := content.readline(_PIECE):
        complete = piece.endswith("\n")
        yield _Piece(number, piece.removesuffix("\n"))
        number += complete


def _lines(content: TextIO, requested: str) -> str:
    """Return numbered lines, such as `10-40`."""
    first, last = _range(requested, "lines")
    numbered = []
    for number, pieces in groupby(_pieces(content), itemgetter(0)):
        if number > last:
            break
        if number < first:
            continue
        beginning, length = "", 0
        for piece in pieces:
            beginning = beginning or piece.text[:_LONGEST_LINE]
            length += len(piece.text)
        cut = f"… ({length} characters)" if length > _LONGEST_LINE else ""
        numbered.append(f"{number}: {beginning}{cut}")
    return clipped("\n".join(numbered))


def _rows(content: TextIO, requested: str, delimiter: str) -> str:
    """Return rows of a CSV file below its header, such as `1-20`."""
    first, last = _range(requested, "rows")
    try:
        reader = csv.reader(_row_lines(content), delimiter=delimiter)
        header = next(reader, [])
        picked = list(islice(reader, first - 1, last))
    except csv.Error as error:
        raise UsageError(f"It cannot be read as a table: {error}.", hint="Ask for lines instead.") from error
    output = io.StringIO()
    csv.writer(output, delimiter=delimiter, lineterminator="\n").writerows([header, *picked])
    return clipped(output.getvalue().rstrip("\n"))


def _row_lines(content: TextIO) -> Iterator[str]:
    while line := content.readline(_LONGEST_ROW_LINE):
        if len(line) == _LONGEST_ROW_LINE:
            raise csv.Error(f"a line is longer than {_LONGEST_ROW_LINE:,} characters")
        yield line


def _matches(content: TextIO, phrase: str) -> str:
    """Return the first numbered lines that contain a text, ignoring case, and the count of all."""
    needle = phrase.casefold()
    hits: list[str] = []
    count = counted = 0
    previous = _Piece(0, "")
    for piece in _pieces(content):
        # A match may begin in the previous piece, and the text around it is shown, too.
        overlap = previous.text[-_LONGEST_LINE - len(phrase) :] if previous.number == piece.number else ""
        text = overlap + piece.text
        if piece.number != counted and needle in text.casefold():
            counted, count = piece.number, count + 1
            if count <= _MATCHES:
                hits.append(f"{piece.number}: {_around(text, needle)}")
        previous = _Piece(piece.number, text)
    if not count:
        return f"Nothing contains {phrase[:80]!r}."
    note = f"\n({count - _MATCHES} more lines contain it)" if count > _MATCHES else ""
    return clipped("\n".join(hits)) + note


def json_text(value: Any) -> str:
    """Return a JSON value as text: on one line if it is short, else indented and clipped."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= 200 else clipped(json.dumps(value, ensure_ascii=False, indent=1))


def clipped(text: str, most: int = MOST) -> str:
    """Return head and tail of a text that is too long, and how much is left out between them."""
    if len(text) <= most:
        return text
    tail = most // 4
    left_out = len(text) - most
    return f"{text[: most - tail]}\n… {left_out:,} characters left out …\n{text[-tail:]}"


def _range(requested: str, unit: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(requested)
    if match is None or int(match[1]) < 1:
        raise UsageError(
            f"{requested[:40]!r} are no {unit}.", hint=f"Write the first and the last: {unit} 1-20."
        )
    first = int(match[1])
    last = int(match[2] or match[1])
    if last < first:
        raise UsageError(f"{requested[:40]!r}: the last of the {unit} comes before the first.")
    return first, min(last, first + 999)


def _around(line: str, needle: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    at = max(line.casefold().find(needle), 0)
    start = max(at - _LONGEST_LINE // 2, 0)
    return f"…{line[start : start + _LONGEST_LINE]}…"
