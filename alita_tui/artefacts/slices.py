"""A part of an artefact or of a result, as a model or a person asks for it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from alita_tui.spine.errors import UsageError

MOST = 6_000
"""Characters of one slice."""
_MATCHES = 20
_LONGEST_LINE = 500
_RANGE = re.compile(r"\s*(\d+)\s*(?:[-:]\s*(\d+)\s*)?")


def at_pointer(value: Any, pointer: str) -> Any:
    """Return the part of a JSON value that a JSON pointer (RFC 6901) names. Raise UsageError."""
    if pointer in ("", "/") and pointer == "":
        return value
    if not pointer.startswith("/"):
        raise UsageError(
            f"{pointer[:80]!r} is no JSON pointer.", hint="It begins with a slash: /rows/0/name."
        )
    here = value
    for number, raw in enumerate(pointer[1:].split("/"), 1):
        key = raw.replace("~1", "/").replace("~0", "~")
        walked = "/".join(pointer.split("/")[: number + 1])
        if isinstance(here, dict):
            if key not in here:
                known = ", ".join(list(map(str, here))[:12])
                raise UsageError(f"There is nothing at {walked[:120]}.", hint=f"There is: {known}")
            here = here[key]
        elif isinstance(here, list):
            if not re.fullmatch(r"0|[1-9]\d*", key) or int(key) >= len(here):
                raise UsageError(
                    f"There is nothing at {walked[:120]}.", hint=f"The list has {len(here)} entries."
                )
            here = here[int(key)]
        else:
            raise UsageError(
                f"There is nothing at {walked[:120]}: what is above it is neither object nor list."
            )
    return here


def lines_of(lines: Iterable[str], wanted: str) -> str:
    """Return numbered lines, such as `10-40`. Raise UsageError."""
    first, last = _range(wanted, "lines")
    picked = islice(lines, first - 1, last)
    return clipped("\n".join(f"{number}: {_short(line)}" for number, line in enumerate(picked, first)))


def rows_of(lines: Iterable[str], wanted: str, delimiter: str = ",") -> str:
    """Return rows of a CSV file below its header, such as `1-20`. Raise UsageError."""
    first, last = _range(wanted, "rows")
    try:
        reader = csv.reader(lines, delimiter=delimiter)
        header = next(reader, [])
        picked = list(islice(reader, first - 1, last))
    except csv.Error as error:
        raise UsageError(f"It cannot be read as a table: {error}.", hint="Ask for lines instead.") from error
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows([header, *picked])
    return clipped(written.getvalue().rstrip("\n"))


def found_in(lines: Iterable[str], wanted: str) -> str:
    """Return the numbered lines that contain a text, whatever its case; the first ones and their count."""
    needle = wanted.casefold()
    hits: list[str] = []
    count = 0
    for number, line in enumerate(lines, 1):
        if needle in line.casefold():
            count += 1
            if count <= _MATCHES:
                hits.append(f"{number}: {_around(line, needle)}")
    if not count:
        return f"Nothing contains {wanted[:80]!r}."
    more = f"\n({count - _MATCHES} more lines contain it)" if count > _MATCHES else ""
    return clipped("\n".join(hits)) + more


def json_text(value: Any) -> str:
    """Return a JSON value as text: on one line where it is short, else indented and clipped."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= 200 else clipped(json.dumps(value, ensure_ascii=False, indent=1))


def clipped(text: str, most: int = MOST) -> str:
    """Return head and tail of a text that is too long, and how much is left out between them."""
    if len(text) <= most:
        return text
    tail = most // 4
    left_out = len(text) - most
    return f"{text[: most - tail]}\n… {left_out:,} characters left out …\n{text[-tail:]}"


def _range(wanted: str, what: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(wanted)
    if match is None or int(match[1]) < 1:
        raise UsageError(
            f"{wanted[:40]!r} are no {what}.", hint=f"Write the first and the last: {what} 1-20."
        )
    first = int(match[1])
    last = int(match[2] or match[1])
    if last < first:
        raise UsageError(f"{wanted[:40]!r}: the last of the {what} comes before the first.")
    return first, min(last, first + 999)


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line)} characters)"


def _around(line: str, needle: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    at = max(line.casefold().find(needle), 0)
    start = max(at - _LONGEST_LINE // 2, 0)
    return f"…{line[start : start + _LONGEST_LINE]}…"
