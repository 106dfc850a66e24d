"""What the person said of an answer, a run or a build, in words."""

from __future__ import annotations

from alita_tui.events import FeedbackGiven
from alita_tui.view.model import Tone


def feedback_title(event: FeedbackGiven) -> str:
    """Return the row's title."""
    what = "this build" if event.build_id else "this run" if event.call_id else "the answer"
    mark = "👍" if event.rating == "up" else "👎"
    if event.undone:
        return f"You took {mark} for {what} back"
    how = "is good" if event.rating == "up" else "is not good"
    said = f": {event.text}" if event.text else ""
    return f"{mark} {what} {how}{said}" + (f"; it should be: {event.expected}" if event.expected else "")


def feedback_row(event: FeedbackGiven) -> tuple[str, str, Tone]:
    """Return a row's title, where it comes from, and its tone."""
    source = "read from what you said" if event.by == "correction" else "yours"
    return (
        feedback_title(event),
        source,
        "muted" if event.undone else "good" if event.rating == "up" else "warn",
    )


def feedback_told(event: FeedbackGiven) -> str:
    """Return it as the agent reads it."""
    what = "that build" if event.build_id else "that run" if event.call_id else "that answer"
    if event.undone:
        return f"The person took back what they said of {what}."
    said = f": {event.text}" if event.text else "."
    told = f"The person finds {what} {'good' if event.rating == 'up' else 'wrong'}{said}"
    return f"{told}\nIt should be: {event.expected}" if event.expected else told
