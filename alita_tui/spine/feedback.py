"""Which words of the person about answers and runs still stand."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui.events import FeedbackGiven


def standing(given: Iterable[FeedbackGiven]) -> list[FeedbackGiven]:
    """Return what was said and not taken back, oldest first.

    Each undoing takes back the newest of its answer or run.
    """
    found: list[FeedbackGiven] = []
    for one in given:
        if not one.undone:
            found.append(one)
            continue
        for place in range(len(found) - 1, -1, -1):
            if (found[place].task_id, found[place].call_id) == (one.task_id, one.call_id):
                del found[place]
                break
    return found
