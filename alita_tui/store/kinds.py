"""Finds the kind of a stored event in its JSON without decoding it, as a number that fits into a byte."""

from __future__ import annotations

from functools import cache
from typing import get_args

from alita_tui.events import SessionEvent

_BEFORE = b'"event":{"kind":"'


@cache
def _numbers() -> dict[bytes, int]:
    tags = sorted(str(kind.__struct_config__.tag) for kind in get_args(SessionEvent))
    return {tag.encode(): number for number, tag in enumerate(tags, 1)}


@cache
def _tags() -> tuple[str, ...]:
    return ("", *(tag.decode() for tag in _numbers()))


def look(raw: bytes) -> int:
    """Return the number of a stored event's kind; 0 if it has to be decoded."""
    # A quote inside a string is escaped, so these bytes can only be a key.
    at = raw.find(_BEFORE) + len(_BEFORE)
    return _numbers().get(raw[at : raw.find(b'"', at)], 0) if at >= len(_BEFORE) else 0


def tag(number: int) -> str:
    """Return the kind's tag; empty for 0."""
    return _tags()[number]
