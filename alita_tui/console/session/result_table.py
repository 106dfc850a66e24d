"""The result of a tool run as words and tables, nested ones too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from alita_tui.console.widgets.styled_text import Line, at_words, width_of, wrap
from alita_tui.spine.text import counted, one_line
from alita_tui.view.result_words import NAMED_MEMBERS, single, value_in_words, value_words

_MOST_ROWS, _MOST_COLUMNS, _NARROWEST = 8, 8, 6
_MOST_LINES, _MOST_OF_TEXT, _DEEPEST = 40, 4, 3
"""Lines of a result and of one text in it, and levels that are spread out; what lies deeper is told in one line."""
_LONGEST = 400
"""Characters of one text."""
_GAP = "  "


def result_lines(text: str, room: int) -> list[Line]:
    """Return the lines of a run's report with its result as words; none where it is a single value, or no JSON.

    A mapping takes a line for each value, a list of records is a table, and what is nested stands indented
    beneath its name. `room` is in cells.
    """
    status, value = _parts(text)
    if single(value):
        return []
    lines: list[Line] = [((line, "warn"),) for line in status]
    lines += _spread_out(value, room, 1)
    if len(lines) > _MOST_LINES:
        more = counted(len(lines) - _MOST_LINES + 1, "more line")
        lines = [*lines[: _MOST_LINES - 1], ((f"… {more}", "muted"),)]
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


def _spread_out(value: Any, room: int, depth: int) -> list[Line]:
    """Return the lines of a mapping or a list; of `room` cells, at a depth that begins with 1."""
    if not value or depth > _DEEPEST or room < 2 * _NARROWEST:
        return [((at_words(value_in_words(value), max(room, 1)), "observation"),)]
    if isinstance(value, dict):
        return _members(value, room, depth)
    if table := _table(value, room):
        return table
    if any(not single(entry) for entry in value):
        return _entries(value, room, depth)
    text = ", ".join(value_words(entry) or "''" for entry in value[:_LONGEST])
    return _shortened(wrap(one_line(text, 2 * _LONGEST), room), counted(len(value), "value"), room)


def _members(value: dict[str, Any], room: int, depth: int) -> list[Line]:
    """Return a line for each single value of a mapping, in one column, then what is nested beneath its name."""
    named = {one_line(str(name), 40): member for name, member in value.items()}
    singles = {name: member for name, member in named.items() if single(member)}
    others = {name: member for name, member in named.items() if not single(member)}
    label = min(max(map(cell_len, singles), default=0), room // 2)
    left = room - label - len(_GAP)
    lines: list[Line] = []
    for name, member in singles.items():
        first, *rest = _shortened(wrap(value_words(member, _LONGEST), left), "", left)
        lines.append(((_filled(name, label) + _GAP, "muted"), *first))
        lines += [((" " * (label + len(_GAP)), ""), *line) for line in rest]
    nested = list(others.values())
    if len(nested) == 1 and isinstance(nested[0], list) and (table := _table(nested[0], room)):
        return [*lines, *table]  # it needs no name where nothing stands beside it
    for name, member in others.items():
        beneath = _spread_out(member, room - len(_GAP), depth + 1)
        title = at_words(name, room)
        if (
            len(beneath) == 1
            and cell_len(title) + len(_GAP) + width_of(beneath[0]) <= room
            and not _mapped(member)
        ):
            lines.append(((title + _GAP, "muted"), *beneath[0]))
            continue
        lines.append(((title, "muted"),))
        lines += [((_GAP, ""), *line) for line in beneath]
    return lines


def _mapped(value: Any) -> bool:
    return bool(value) and isinstance(value, dict)


def _entries(value: Sequence[Any], room: int, depth: int) -> list[Line]:
    """Return the first entries of a list that is no table, each behind its number."""
    lines: list[Line] = []
    for number, entry in enumerate(value[:_MOST_ROWS], 1):
        head = f"{number}".rjust(len(str(min(len(value), _MOST_ROWS)))) + _GAP
        left = room - len(head)
        words = value_words(entry, _LONGEST) if single(entry) else value_in_words(entry)
        if single(entry) or (_told_whole(entry) and cell_len(words) <= left):
            lines.append(((head, "muted"), (at_words(words, left), "observation")))
            continue
        first, *rest = _spread_out(entry, left, depth + 1)
        lines.append(((head, "muted"), *first))
        lines += [((" " * len(head), ""), *line) for line in rest]
    return [*lines, *_more_rows(len(value))]


def _told_whole(value: Any) -> bool:
    """Return whether one line of words says all of a mapping or a list."""
    members = list(value.values() if isinstance(value, dict) else value)
    return len(members) <= NAMED_MEMBERS and all(map(single, members))


def _more_rows(number: int) -> list[Line]:
    rest = number - _MOST_ROWS
    return [((f"… {counted(rest, 'more row')}", "muted"),)] if rest > 0 else []


def _shortened(lines: list[str], whole: str, room: int) -> list[Line]:
    """Return the first lines of a text; the last one says that there is more, and how much in all."""
    shown = lines[:_MOST_OF_TEXT]
    if len(shown) < len(lines):
        tail = f" … {whole}" if whole else " …"
        shown[-1] = at_words(shown[-1], max(room - cell_len(tail), 1)).removesuffix(" …") + tail
    return [((text, "observation"),) for text in shown] or [(("''", "observation"),)]


def _table(records: list[Any], room: int) -> list[Line]:
    """Return a header and the first rows; none where these are no records, or the columns have no room.

    A record may lack members of the others, and a cell tells a nested value in words.
    """
    shown = records[:_MOST_ROWS]
    if not all(isinstance(record, dict) for record in records):
        return []
    names = list(dict.fromkeys(name for record in shown for name in record))
    if not 0 < len(names) <= _MOST_COLUMNS or sum(map(len, shown)) * 2 < len(names) * len(shown):
        return []
    columns = [[_cell(record[name]) if name in record else "" for record in shown] for name in names]
    heads = [one_line(str(name), 40) for name in names]
    right = [
        all(
            isinstance(record[name], int | float) and not isinstance(record[name], bool)
            for record in shown
            if name in record
        )
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
    return [*lines, *_more_rows(len(records))]


def _cell(value: Any) -> str:
    return value_words(value) if single(value) else value_in_words(value)


def _filled(text: str, width: int, *, right: bool = False) -> str:
    """Return a text in exactly so many cells."""
    text = at_words(text, width)
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank
