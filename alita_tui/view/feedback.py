"""The person's feedback on an answer, a run or a build, in words."""

from __future__ import annotations

from alita_tui.events import FeedbackGiven, Rating
from alita_tui.view.model import Tone

MARKS: dict[Rating, str] = {"up": "👍", "down": "👎"}


def feedback_title(event: FeedbackGiven) -> str:
    """Return the title of a feedback's row."""
    subject = "this build" if event.build_id else "this run" if event.call_id else "the answer"
    mark = MARKS[event.rating]
    if event.undone:
        return f"You took {mark} for {subject} back"
    judgement = "is good" if event.rating == "up" else "is not good"
    return f"{mark} {subject} {judgement}" + (f": {event.remark}" if event.remark else "")


def feedback_row(event: FeedbackGiven) -> tuple[str, str, Tone]:
    """Return title, source and tone of a feedback's row."""
    source = "read from what you said" if event.by == "correction" else "yours"
    return (
        feedback_title(event),
        source,
        "muted" if event.undone else "good" if event.rating == "up" else "warn",
    )


def feedback_for_agent(event: FeedbackGiven) -> str:
    """Return the feedback in words for the agent."""
    subject = "that build" if event.build_id else "that run" if event.call_id else "that answer"
    if event.undone:
        return f"The person took back what they said of {subject}."
    remark = f": {event.text}" if event.text else "."
    text = f"The person finds {subject} {'good' if event.rating == 'up' else 'wrong'}{remark}"
    return f"{text}\nIt should be: {event.expected}" if event.expected else text
