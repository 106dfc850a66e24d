# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Read a table from CSV text or a workspace file: choose columns and rows, sort, group and total."""

from __future__ import annotations

import csv
import io
import math
import operator
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable

Cell = str | float | int
Row = dict[str, Cell]
_TESTS: dict[str, Callable[[Cell, Cell], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "contains": lambda cell, value: str(value).lower() in str(cell).lower(),
}  # fmt: skip
_TOTALS: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum, "mean": lambda numbers: math.fsum(numbers) / len(numbers), "min": min, "max": max,
    "count": lambda numbers: len(numbers),
}  # fmt: skip


def run(
    path: str = "",
    text: str = "",
    columns: list[str] | None = None,
    where: list[dict[str, object]] | None = None,
    group_by: str = "",
    totals: dict[str, str] | None = None,
    sort_by: str = "",
    descending: bool = False,
    limit: int = 1000,
) -> dict[str, object]:
    """The table's rows after all that is asked for, how many there were, and its columns.

    `where` has conditions such as {"column": "age", "test": ">", "value": 30}; all of them hold for a
    row. `totals` says how a column is totalled for each group: sum, mean, min, max or count.
    Raises ValueError for a column, test or total that there is not.
    """
    if bool(path) == bool(text):
        raise ValueError("give either a path or the text of the table")
    rows, names = _table(_read(path) if path else text)
    read = len(rows)
    for condition in where or []:
        rows = [row for row in rows if _holds(row, condition, names)]
    found = len(rows)
    if group_by or totals:
        rows, names = _grouped(rows, names, group_by, totals or {})
    if sort_by:
        _known(names, [sort_by])
        rows = sorted(rows, key=lambda row: _order(row[sort_by]), reverse=descending)
    if columns:
        _known(names, columns)
        rows, names = [{name: row[name] for name in columns} for row in rows], columns
    return {"columns": names, "rows": rows[: max(limit, 0)], "read": read, "matched": found}


def _table(text: str) -> tuple[list[Row], list[str]]:
    head = text[:10_000]
    try:
        dialect: type[csv.Dialect] | str = csv.Sniffer().sniff(head, delimiters=",;\t|")
    except csv.Error:
        dialect = "excel"
    try:
        lines = [line for line in csv.reader(io.StringIO(text), dialect) if line]
    except csv.Error as error:
        raise ValueError(f"this is no table: {error}") from error
    if not lines:
        raise ValueError("the table is empty")
    names = [name.strip().lstrip("\ufeff") or f"column {at}" for at, name in enumerate(lines[0], 1)]
    if len(set(names)) < len(names):
        raise ValueError("two columns have the same name")
    padding = [""] * len(names)
    return [
        {name: _cell(cell) for name, cell in zip(names, line + padding, strict=False)} for line in lines[1:]
    ], names


def _cell(text: str) -> Cell:
    """A number where the text is one, as it stands; numbers with leading zeros stay text."""
    plain = text.strip()
    if plain[:1] == "0" and plain[1:2].isdigit() or "_" in plain:
        return plain
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        number = float(plain)
    except ValueError:
        return plain
    return number if math.isfinite(number) else plain


def _holds(row: Row, condition: dict[str, object], names: list[str]) -> bool:
    column, test, value = (
        str(condition.get("column")),
        str(condition.get("test", "=")),
        condition.get("value"),
    )
    _known(names, [column])
    if test not in _TESTS or not isinstance(value, str | int | float):
        raise ValueError(f"a condition has a column, one of the tests {' '.join(_TESTS)}, and a value")
    cell = row[column]
    if test != "contains" and isinstance(cell, str) != isinstance(value, str):
        cell, value = str(cell), str(value)
        if test not in ("=", "!="):
            return False
    return _TESTS[test](cell, value)


def _grouped(
    rows: list[Row], names: list[str], group_by: str, totals: dict[str, str]
) -> tuple[list[Row], list[str]]:
    _known(names, [*([group_by] if group_by else []), *totals])
    for total in totals.values():
        if total not in _TOTALS:
            raise ValueError(f"{total!r} is none of {' '.join(_TOTALS)}")
    groups: dict[Cell, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[group_by] if group_by else "all", []).append(row)
    made: list[Row] = []
    for key, members in groups.items():
        one: Row = {group_by or "group": key, "rows": len(members)}
        for column, total in totals.items():
            numbers = [cell for row in members if not isinstance(cell := row[column], str)]
            one[f"{total} of {column}"] = _TOTALS[total](numbers) if numbers or total == "count" else ""
        made.append(one)
    return made, [group_by or "group", "rows", *(f"{total} of {column}" for column, total in totals.items())]


def _order(cell: Cell) -> tuple[bool, float, str]:
    """Numbers before text."""
    return (True, 0.0, cell) if isinstance(cell, str) else (False, cell, "")


def _known(names: list[str], asked: list[str]) -> None:
    for name in asked:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(names)}")


def _read(path: str) -> str:
    broker = os.environ.get("ALITA_BROKER", "")
    try:
        if broker:
            with urllib.request.urlopen(f"{broker}/files/{urllib.parse.quote(path)}") as answer:
                return bytes(answer.read()).decode("utf-8-sig")
        with open(path, "rb") as file:  # outside of alita: a file of the current folder
            return file.read().decode("utf-8-sig")
    except urllib.error.HTTPError as error:
        raise ValueError(error.read().decode("utf-8", "replace").strip()) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
