"""Finds the part of a task that a tool answers, because a task may ask for several things. Pure."""

from __future__ import annotations

import re

from alita_tui.spine.ranking import words
from alita_tui.spine.text import one_line

_LONGEST = 300
_BREAK = re.compile(
    r"(?<=[.!?;])\s+|\n+|,?\s+(?:and|und)\s+then\s+|,\s*then\s+|,\s+(?:and|und)\s+"
    r"|\s+(?:after that|afterwards|finally)[,\s]+",
    re.IGNORECASE,
)
"""Matches the boundary between two requests."""
_NEEDED = 2
"""Fewest meaningful words that make a part a request of its own."""


def relevant(task: str, about: str) -> str:
    """Return the part of a task that shares most words with a text; the whole task if no part shares any."""
    whole_task = str(one_line(task, _LONGEST))
    about_words = {form for form, _ in words(about)}
    parts = [part for part in _BREAK.split(task[: 20 * _LONGEST]) if len(words(part)) >= _NEEDED]
    if len(parts) < 2:
        return whole_task
    shared = [len(about_words & {form for form, _ in words(part)}) for part in parts]
    if not max(shared):
        return whole_task
    return str(one_line(parts[shared.index(max(shared))], _LONGEST))
