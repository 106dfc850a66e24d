"""Which of the person's ratings of answers and runs are still valid."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui.events import FeedbackGiven


def valid_ratings(events: Iterable[FeedbackGiven]) -> list[FeedbackGiven]:
    """Return the feedback that was not taken back, oldest first.

    Each undo takes back the newest rating of its answer, run or build.
    """
    valid: list[FeedbackGiven] = []
    for feedback in events:
        if not feedback.undone:
            valid.append(feedback)
            continue
        for index in range(len(valid) - 1, -1, -1):
            if valid[index].target == feedback.target:
                del valid[index]
                break
    return valid
