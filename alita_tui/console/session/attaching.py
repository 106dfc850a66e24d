"""Files named in a message: `@report.pdf`, `@~/data/sales.csv`, `@"my file.txt"`."""

from __future__ import annotations

import os
import re
from itertools import islice
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

_MOST = 12
"""Names that are offered."""
_LOOKED_AT = 5_000
"""Entries of a folder that are looked at while somebody types."""
_NAMED = re.compile(r'(?:(?<=\s)|^)@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]+))', re.MULTILINE)
_BEGUN = re.compile(r'(?:(?<=\s)|^)@(?P<quote>"?)(?P<path>[^"\n]*)$')
_LIKE_A_PATH = re.compile(r"[./~].*[^.,;:!?]|.*\.\w{1,8}|.*/.+")


class Attached(NamedTuple):
    """What a message names."""

    files: tuple[str, ...]
    """Absolute paths of files that can be read."""
    missing: tuple[str, ...]
    """What looks like a file and is none."""


def attached(text: str) -> Attached:
    """Return the files that a message names; a word such as `@someone` is no file."""
    files: dict[str, None] = {}
    missing: dict[str, None] = {}
    for match in _NAMED.finditer(text):
        written = match["quoted"] or match["plain"]
        for name in (written, written.rstrip(".,;:!?)")):
            path = Path(name).expanduser()
            if path.is_file() and os.access(path, os.R_OK):
                files[str(path.absolute())] = None
                break
        else:
            if match["quoted"] or _LIKE_A_PATH.fullmatch(written):
                missing[written] = None
    return Attached(tuple(files), tuple(missing))


class Completion(NamedTuple):
    """How a path that was begun can go on."""

    rest: str
    """What all that fits have in common, to be added at the cursor."""
    options: tuple[str, ...]
    """Names that fit, folders with a slash; none where the completion is whole."""


def choices(before: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the last part of the path before the cursor, and the names that fit; None where it ends with no path."""
    match = _BEGUN.search(before)
    if match is None or (not match["quote"] and re.search(r"\s", match["path"])):
        return None
    folder, name = os.path.split(match["path"])
    try:
        with os.scandir(Path(folder or ".").expanduser()) as found:
            entries = sorted(islice(found, _LOOKED_AT), key=lambda entry: entry.name)
    except OSError:
        return name, ()
    names = [
        entry.name + ("/" if entry.is_dir() else "")
        for entry in entries
        if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith("."))
    ]
    if not match["quote"]:
        names = [found for found in names if not re.search(r'[\s"]', found)] or names
    return name, tuple(names)


def rest_of(before: str, name: str) -> str:
    """Return what is added at the cursor where one of the choices is taken."""
    match, found = _BEGUN.search(before), choices(before)
    if match is None or found is None:
        return ""
    end = "" if name.endswith("/") else '" ' if match["quote"] else " "
    return name[len(found[0]) :] + end


def completion(before: str) -> Completion | None:
    """Return how the text before the cursor can go on; None where it ends with no path."""
    found = choices(before)
    if found is None:
        return None
    name, names = found
    if len(names) == 1:
        return Completion(rest_of(before, names[0]), ())
    return Completion(commonprefix(names)[len(name) :], names[:_MOST])
