"""Files named in a message: `@report.pdf`, `@~/data/sales.csv`, `@"my file.txt"`."""

from __future__ import annotations

import os
import re
from itertools import islice
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

_MOST_OFFERED = 12
"""Names offered at most."""
_MOST_READ = 5_000
"""Entries of a folder that are read at most while somebody types."""
_REFERENCE = re.compile(r'(?:(?<=\s)|^)@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]+))', re.MULTILINE)
_UNFINISHED = re.compile(r'(?:(?<=\s)|^)@(?P<quote>"?)(?P<path>[^"\n]*)$')
_LIKE_A_PATH = re.compile(r"[./~].*[^.,;:!?]|.*\.\w{1,8}|.*/.+")


class Attached(NamedTuple):
    """The files that a message names."""

    files: tuple[str, ...]
    """Absolute paths of files that can be read."""
    missing: tuple[str, ...]
    """Names that look like a file and are none."""


def attached(text: str) -> Attached:
    """Return the files that a message names; a word such as `@someone` is no file."""
    files: dict[str, None] = {}
    missing: dict[str, None] = {}
    for match in _REFERENCE.finditer(text):
        reference = match["quoted"] or match["plain"]
        for name in (reference, reference.rstrip(".,;:!?)")):
            path = Path(name).expanduser()
            if path.is_file() and os.access(path, os.R_OK):
                files[str(path.absolute())] = None
                break
        else:
            if match["quoted"] or _LIKE_A_PATH.fullmatch(reference):
                missing[reference] = None
    return Attached(tuple(files), tuple(missing))


class Completion(NamedTuple):
    """How an unfinished path can be completed."""

    rest: str
    """The beginning that all matching names share, to be added at the cursor."""
    options: tuple[str, ...]
    """Matching names, folders with a slash; empty if only one matches."""


def choices(before: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the last part of the path before the cursor and the names that match it; None if there is no path."""
    match = _UNFINISHED.search(before)
    if match is None or (not match["quote"] and re.search(r"\s", match["path"])):
        return None
    folder, name = os.path.split(match["path"])
    try:
        with os.scandir(Path(folder or ".").expanduser()) as listing:
            entries = sorted(islice(listing, _MOST_READ), key=lambda entry: entry.name)
    except OSError:
        return name, ()
    names = [
        entry.name + ("/" if entry.is_dir() else "")
        for entry in entries
        if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith("."))
    ]
    if not match["quote"]:
        names = [candidate for candidate in names if not re.search(r'[\s"]', candidate)] or names
    return name, tuple(names)


def rest_of(before: str, name: str) -> str:
    """Return the text to insert at the cursor for a chosen name."""
    match, fitting = _UNFINISHED.search(before), choices(before)
    if match is None or fitting is None:
        return ""
    closing = "" if name.endswith("/") else '" ' if match["quote"] else " "
    return name[len(fitting[0]) :] + closing


def completion(before: str) -> Completion | None:
    """Return how the path before the cursor can be completed; None if there is no path."""
    fitting = choices(before)
    if fitting is None:
        return None
    name, names = fitting
    if len(names) == 1:
        return Completion(rest_of(before, names[0]), ())
    return Completion(commonprefix(names)[len(name) :], names[:_MOST_OFFERED])
