"""Reads the text of a `.env` file. Nothing of it is ever put into the process's environment. Pure."""

from __future__ import annotations

import io
import re
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPEN_QUOTE = re.compile(rf"\s*(?:export\s+)?(?P<name>{_NAME.pattern})\s*=\s*[\"']")


class Entry(NamedTuple):
    """An assignment, a comment, or something that is neither."""

    text: str
    """As it is written, blank lines before it and its line break included; an assignment may span lines."""
    line: int
    name: str = ""
    """Of an assignment; empty for anything else."""
    value: str = ""
    problem: str = ""
    """What is wrong with it, without repeating it: it may hold a key."""


def parse(text: str) -> tuple[Entry, ...]:
    """Return the entries of a file in order. Quotes, escapes and comments are read as python-dotenv reads them.

    Variables are not expanded.
    """
    if not text.strip():
        return ()
    from dotenv.parser import (  # takes 20 ms to import, and most people have no such file
        Binding,
        parse_stream,
    )

    def entry(binding: Binding) -> Entry:
        source = binding.original.string
        blank = len(source) - len(source.lstrip())
        line = binding.original.line + source[:blank].count("\n")
        if binding.error:
            opened = _OPEN_QUOTE.match(source)
            reason = f" ({opened['name'][:40]} has an open quote)" if opened else ""
            return Entry(source, line, problem=f"is not a KEY=VALUE line{reason}")
        if binding.key is None:
            return Entry(source, line)
        if binding.value is None or not _NAME.fullmatch(binding.key):
            return Entry(source, line, problem="is not a KEY=VALUE line")
        return Entry(source, line, binding.key, binding.value)

    return tuple(map(entry, parse_stream(io.StringIO(text))))


def quoted(value: str) -> str:
    """Return a value in single quotes, to be read back as it is."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
