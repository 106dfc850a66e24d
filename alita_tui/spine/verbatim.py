"""Finds one text in another word for word: only whole words and whole numbers match."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"(?:(?<!\w)[-+−](?=\d))?\w+(?:[.@'’/−-]\w+|[,:]\d+)*%?")
"""A word, a number, an address: `3.5`, `-5`, `1,250`, `12:30`, `5%`, `ada@example.org`, `don't` are one each."""


def occurrences(part: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each place where a text has exactly these words in order.

    Case, blanks and punctuation between words do not count.
    """
    sought = [match[0].casefold() for match in _WORD.finditer(part)]
    matches = [*_WORD.finditer(text)]
    words = [match[0].casefold() for match in matches]
    for begin in range(len(words) - len(sought) + 1) if sought else ():
        end = begin + len(sought) - 1
        if words[begin : end + 1] == sought:
            yield matches[begin].start(), matches[end].end()
