"""Reads a `.env` file: KEY=VALUE lines. Nothing of it is ever put into the process's environment."""

from __future__ import annotations

import re

from alita_tui.spine.errors import ConfigError
from alita_tui.spine.text import one_line
from alita_tui.spine.values import Value

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Assignment(Value, frozen=True):
    """One line of the file."""

    name: str
    value: str
    line: int


def parse(text: str, where: str) -> tuple[tuple[Assignment, ...], tuple[ConfigError, ...]]:
    """The assignments of a file and what is wrong with its other lines.

    Single quotes keep everything as written; double quotes know the escapes n, t, r, quote and
    backslash; a bare value ends before ` #`. Variables are not expanded.
    """
    found, problems = [], []
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match["value"]) if match else None
        if match is None or value is None:
            # The line may hold a key, so it is not repeated here.
            problems.append(
                ConfigError(
                    f"{where} line {number} is not a KEY=VALUE line"
                    + (f" ({one_line(match['name'], 40)} has an open quote)." if match else "."),
                    hint="Write NAME=value, with quotes around a value that has spaces or #.",
                )
            )
            continue
        found.append(Assignment(name=match["name"], value=value, line=number))
    return tuple(found), tuple(problems)


def _value(raw: str) -> str | None:
    """The value without quotes and comment, or None when a quote stays open."""
    if raw[:1] == "'":
        match = re.fullmatch(r"'([^']*)'\s*(?:#.*)?", raw)
        return match[1] if match else None
    if raw[:1] == '"':
        match = re.fullmatch(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?', raw)
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), match[1]) if match else None
    return re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()
