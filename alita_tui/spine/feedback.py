"""Which words of the person about answers and runs still stand."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui.events import FeedbackGiven


def standing(given: Iterable[FeedbackGiven]) -> list[FeedbackGiven]:
    """Return what was said and not taken back, oldest first.

    Each undoing takes back the newest of its answer, run or build.
    """
    found: list[FeedbackGiven] = []
    for one in given:
        if not one.undone:
            found.append(one)
            continue
        for place in range(len(found) - 1, -1, -1):
            if found[place].target == one.target:
                del found[place]
                break
    return found
