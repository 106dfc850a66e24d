"""Finds words that persuade a reader, by what they do rather than by their language.

One sign alone may be ordinary in a tool; two different ones close together address the person who decides on it.
"""

from __future__ import annotations

import re
from functools import cache

from alita_tui.runtimes.rules import table

_BREATH = 240
"""Characters within which two signs belong together."""
_TOGETHER = (("reader", "decided", "asked", "unread"), ("page", "dismissed"), ("quiet", "order"))
"""Kinds of signs; two different kinds close together count as persuasion."""


def persuades(text: str) -> tuple[int, int] | None:
    """Return where a text persuades its reader, from its first sign to its last; None if it does not."""
    if match := _sign("taken_back").search(text):
        return match.span()
    spans = (_together(tuple(map(_sign, kinds)), text) for kinds in _TOGETHER)
    return next((span for span in spans if span), None)


@cache
def _sign(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in table("persuasion")[kind]), re.IGNORECASE)


def _together(signs: tuple[re.Pattern[str], ...], text: str) -> tuple[int, int] | None:
    """Return where two signs of different kinds are close to each other and are not the same words."""
    matches = sorted(
        (match.start(), match.end(), kind) for kind, sign in enumerate(signs) for match in sign.finditer(text)
    )
    for (start, end, kind), (later, last, later_kind) in zip(matches, matches[1:], strict=False):
        if kind != later_kind and later >= end and last - start <= _BREATH:
            return start, last
    return None
