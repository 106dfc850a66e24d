"""The result of a tool run in one line of words: its first values, its number of rows, its files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from alita_tui.events import RunReport
from alita_tui.spine.text import counted, one_line

_MOST, _LONGEST = 6, 120
"""Most values in a line, and most characters of a value."""


def result_words(report: RunReport) -> str:
    """Return the line. It holds no JSON: the opened row has the complete result."""
    words = _result_words(report.result)
    names = [str(one_line(file.name, _LONGEST)) for file in report.files]
    files = [name for name in names[:_MOST] if name not in words]
    further = [f"{len(names) - _MOST} more files"] if len(names) > _MOST else []
    if report.result is None and names:
        words = ""
    return " · ".join(filter(None, (words, ", ".join((*files, *further)))))


def single(value: Any) -> bool:
    """Return True if a value is neither a list nor a mapping."""
    return value is None or isinstance(value, str | int | float | bool)


def value_words(value: Any, longest: int = _LONGEST) -> str:
    """Return a single value as a person writes it, with at most `longest` characters."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(one_line(str(value), longest))


def _single_words(value: Any, longest: int = _LONGEST) -> str:
    return value_words(value, longest) or "''"


def _result_words(value: Any) -> str:
    if value is None:
        return "no result"
    if single(value):
        return _single_words(value, 400)
    return _mapping_words(value) if isinstance(value, Mapping) else _list_words(value)


def _mapping_words(value: Mapping[str, Any]) -> str:
    """Return the members of a mapping, single values first, so that they have room on the line."""
    if not value:
        return "empty"
    ordered = sorted(islice(value.items(), 50), key=lambda member: not single(member[1]))
    parts = []
    for name, member in ordered[:_MOST]:
        label = one_line(str(name), 40)
        if single(member):
            parts.append(f"{label}: {_single_words(member)}")
        elif isinstance(member, Mapping):
            parts.append(f"{label}: {counted(len(member), 'value')}")
        else:
            parts.append(f"{label}: {_list_words(member)}")
    return " · ".join(parts)


def _list_words(value: Any) -> str:
    """Return the number of a list's entries, and the first entry."""
    if not value:
        return "none"
    first = value[0]
    if isinstance(first, Mapping):
        singles = [
            f"{one_line(str(name), 40)} {_single_words(member)}"
            for name, member in islice(first.items(), _MOST)
            if single(member)
        ]
        begins = f", first: {', '.join(singles)}" if singles else ""
        return f"{counted(len(value), 'row')}{begins}"
    singles = [_single_words(member) for member in islice(value, _MOST) if single(member)]
    if not singles:
        return counted(len(value), "row")
    rest = f" … {counted(len(value), 'value')}" if len(value) > len(singles) else ""
    return f"{', '.join(singles)}{rest}"
