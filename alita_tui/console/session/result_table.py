"""The result of a tool run as words and a table, where it has the form of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from alita_tui.console.widgets.styled_text import Line, cut
from alita_tui.spine.text import counted, one_line
from alita_tui.view.result_words import single, value_words

_MOST_ROWS, _MOST_COLUMNS, _NARROWEST = 8, 8, 6
_GAP = "  "


def result_lines(text: str, room: int) -> list[Line]:
    """Return the lines of a run's report with its result as words; none where the result has another form.

    A mapping of single values takes a line for each, a list of records a table. `room` is in cells.
    """
    status, value = _parts(text)
    records, named = _records(value), _named(value)
    if not records and not named:
        return []
    lines: list[Line] = [((line, "warn"),) for line in status]
    label = max((cell_len(name) for name, _shown in named), default=0)
    for name, shown in named:
        lines.append(((_filled(name, min(label, room // 2)) + _GAP, "muted"), (shown, "observation")))
    if records:
        table = _table(records, room)
        lines = [*lines, *table] if table else []
    return lines


def _parts(text: str) -> tuple[list[str], Any]:
    """Return what a report says before its result, unless all is well, and the result; None where it is no JSON."""
    lines = text.split("\n")
    begins = next((number for number, line in enumerate(lines) if line[:1] in ("{", "[")), len(lines))
    ends = next(
        (number for number, line in enumerate(lines) if number > begins and line.startswith("── ")),
        len(lines),
    )
    try:
        value = json.loads("\n".join(lines[begins:ends]))
    except (ValueError, RecursionError):
        return [], None
    return [line for line in lines[:begins] if line != "status ok"], value


def _named(value: Any) -> list[tuple[str, str]]:
    """Return the single values of a mapping by name; none where it holds anything else besides records."""
    if not isinstance(value, dict) or not value:
        return []
    others = [member for member in value.values() if not single(member)]
    if others and not (len(others) == 1 and _records(value)):
        return []
    return [
        (one_line(str(name), 40), value_words(member)) for name, member in value.items() if single(member)
    ]


def _records(value: Any) -> list[dict[str, Any]]:
    """Return records with the same members and single values: the value, or the only member that is a list."""
    if isinstance(value, dict):
        lists = [member for member in value.values() if not single(member)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not value or not all(isinstance(record, dict) for record in value):
        return []
    alike = len({tuple(record) for record in value}) == 1 and value[0]
    return value if alike and all(single(member) for record in value for member in record.values()) else []


def _table(records: list[dict[str, Any]], room: int) -> list[Line]:
    """Return a header and the first rows; none where the columns have no room."""
    names = list(records[0])
    if len(names) > _MOST_COLUMNS:
        return []
    shown = records[:_MOST_ROWS]
    columns = [[value_words(record[name]) for record in shown] for name in names]
    heads = [one_line(str(name), 40) for name in names]
    right = [
        all(isinstance(record[name], int | float) and not isinstance(record[name], bool) for record in shown)
        for name in names
    ]
    widths = [
        max(cell_len(cell) for cell in (head, *column)) for head, column in zip(heads, columns, strict=True)
    ]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            return []
        widths[widest] -= 1

    def row(cells: Sequence[str]) -> str:
        parts = zip(cells, widths, right, strict=True)
        return _GAP.join(_filled(cell, width, right=last) for cell, width, last in parts).rstrip()

    lines: list[Line] = [((row(heads), "muted"),)]
    lines += [((row(cells), "observation"),) for cells in zip(*columns, strict=True)]
    if len(records) > len(shown):
        lines.append(((f"… {counted(len(records) - len(shown), 'more row')}", "muted"),))
    return lines


def _filled(text: str, width: int, *, right: bool = False) -> str:
    """Return a text in exactly so many cells."""
    text = cut(text, width)
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank
