"""Finds one text in another word for word: only whole words and whole numbers match."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"(?:(?<!\w)[-+−](?=\d))?\w+(?:[.@'’/−-]\w+|[,:]\d+)*%?")
"""A word, a number, an address: `3.5`, `-5`, `1,250`, `12:30`, `5%`, `ada@example.org`, `don't` are one each."""


def standing(part: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where a text has just these words, in order; case, blanks and marks do not count."""
    wanted = [match[0].casefold() for match in _WORD.finditer(part)]
    there = [*_WORD.finditer(text)]
    words = [match[0].casefold() for match in there]
    for first in range(len(words) - len(wanted) + 1) if wanted else ():
        last = first + len(wanted) - 1
        if words[first : last + 1] == wanted:
            yield there[first].start(), there[last].end()
