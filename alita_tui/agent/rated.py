"""Applies the person's rating of an answer, run or build to what memory learned from that task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.feedback import standing
from alita_tui.spine.history import of, of_kind


class Word(NamedTuple):
    """A valid rating of a memory item."""

    item_id: str
    source: str
    """`session:seq` of what it was learned from."""
    rating: e.Rating | None
    """None if everything was taken back."""


def words_about_memory(history: Sequence[Envelope], task_id: e.TaskId) -> list[Word]:
    """Return the person's current rating of each item that a task taught; empty if they rated nothing.

    A rating of the answer applies to every item. Without one, a rating of a run applies to the items that used its
    tool, and a rating of a build to the recipe that calls it. Derived from the record, so repeating it is harmless.
    """
    feedback_events = [event for event in of_kind(history, e.FeedbackGiven) if event.task_id == task_id]
    if not feedback_events:
        return []
    kinds = (e.MemoryWritten, e.ToolCalled, e.ToolRegistered)
    events = [(envelope.task_id, envelope.event) for envelope in of(history, *kinds)]
    tools = {str(event.call_id): event.name for _, event in events if isinstance(event, e.ToolCalled)}
    tools |= {
        str(event.build_id): event.card.name for _, event in events if isinstance(event, e.ToolRegistered)
    }
    words = []
    for owner, event in events:
        if isinstance(event, e.MemoryWritten) and owner == task_id:
            item = event.item
            answer_ratings: list[e.Rating] = []
            tool_ratings: list[e.Rating] = []
            for feedback in standing(feedback_events):
                if feedback.answer:
                    answer_ratings.append(feedback.rating)
                elif tools.get(feedback.call_id or feedback.build_id) in item.tools and (
                    feedback.call_id or item.steps
                ):
                    tool_ratings.append(feedback.rating)
            ratings = answer_ratings or tool_ratings
            source = f"{item.source_session}:{item.source_seq}"
            words.append(Word(item.item_id, source, ratings[-1] if ratings else None))
    return words
