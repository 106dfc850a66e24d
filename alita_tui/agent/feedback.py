"""The person's feedback: what a rating is about, and what it means for the memory items that a task taught."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from alita_tui import events as e
from alita_tui.spine.commands import GiveFeedback
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.feedback import valid_ratings
from alita_tui.spine.history import of, of_kind

_OF_BUILDS = (
    e.BuildStarted, e.BuildDrafted, e.BuildReviewed, e.BuildTested, e.GateChecked, e.ApprovalRequested,
    e.ApprovalResolved, e.ToolRegistered,
)  # fmt: skip
"""A rating of any of these counts as one of the build."""


def feedback_of(history: Sequence[Envelope], command: GiveFeedback) -> e.FeedbackGiven:
    """Return the feedback that a command gives or takes back.

    Raise UsageError if it names nothing that can be rated, or takes back a rating that was never given.
    """
    if command.undo and not command.seq:
        return _taken_back(history, None)
    calls: dict[str, e.TaskId] = {}
    task = e.NO_TASK
    ends = (e.ToolReturned, e.ToolFailed, e.TaskFinished, e.FeedbackGiven)
    for envelope in of(history, e.TaskSubmitted, e.ToolCalled, *ends, *_OF_BUILDS):
        match envelope.event:
            case e.TaskSubmitted(task_id=task_id):
                task = task_id
            case e.ToolCalled(call_id=call_id):
                calls[call_id] = envelope.task_id or task
            case _:
                pass
        if command.seq and envelope.seq == command.seq:
            target = _rating_target(envelope.event, calls, envelope.task_id or task)
            if target is not None and target[2] and not _was_registered(history, target[2]):
                raise UsageError("No tool came of that build.", hint="Say why when you reject it.")
            if target is not None:
                return _taken_back(history, target) if command.undo else _feedback(command, target)
    if command.seq:
        raise UsageError(
            f"Event {command.seq} cannot be rated.",
            hint="Choose an answer, a result, a failure or a registered build.",
        )
    newest = list(of_kind(history, e.TaskFinished))
    if not newest:
        raise UsageError("No task of this session has ended yet.", hint="There is nothing to rate.")
    return _feedback(command, (newest[-1].task_id, "", ""))


def _was_registered(history: Sequence[Envelope], build_id: str) -> bool:
    return any(registered.build_id == build_id for registered in of_kind(history, e.ToolRegistered))


def _feedback(command: GiveFeedback, target: e.RatingTarget) -> e.FeedbackGiven:
    task_id, call_id, build_id = target
    return e.FeedbackGiven(
        task_id=task_id,
        call_id=call_id,
        build_id=build_id,
        rating=command.rating,
        text=command.text.strip(),
        expected=command.expected.strip(),
    )


def _taken_back(history: Sequence[Envelope], target: e.RatingTarget | None) -> e.FeedbackGiven:
    """Return an event that takes back the newest rating of a target, or of anything for None.

    Raise UsageError if nothing was rated.
    """
    for rating in reversed(valid_ratings(list(of_kind(history, e.FeedbackGiven)))):
        if target in (None, rating.target):
            return msgspec.structs.replace(rating, text="", expected="", by="person", undone=True)
    raise UsageError("Nothing was said of it.", hint="There is nothing to undo.")


def _rating_target(
    event: e.SessionEvent, calls: dict[str, e.TaskId], task: e.TaskId
) -> e.RatingTarget | None:
    match event:
        case e.TaskFinished(task_id=task_id):
            return task_id, "", ""
        case e.FeedbackGiven():  # rating a feedback row changes that feedback's target
            return event.target
        case _ if isinstance(event, _OF_BUILDS) and task:
            return task, "", str(event.build_id)
        case e.ToolReturned(call_id=call_id) | e.ToolFailed(call_id=call_id) if calls.get(call_id):
            return calls[call_id], call_id, ""
        case _:
            return None


class ItemRating(NamedTuple):
    """A valid rating of a memory item."""

    item_id: str
    source: str
    """`session:seq` of what it was learned from."""
    rating: e.Rating | None
    """None if everything was taken back."""


def memory_ratings(history: Sequence[Envelope], task_id: e.TaskId) -> list[ItemRating]:
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
    ratings_by_item = []
    for owner, event in events:
        if isinstance(event, e.MemoryWritten) and owner == task_id:
            item = event.item
            answer_ratings: list[e.Rating] = []
            tool_ratings: list[e.Rating] = []
            for feedback in valid_ratings(feedback_events):
                if feedback.answer:
                    answer_ratings.append(feedback.rating)
                elif tools.get(feedback.call_id or feedback.build_id) in item.tools and (
                    feedback.call_id or item.steps
                ):
                    tool_ratings.append(feedback.rating)
            ratings = answer_ratings or tool_ratings
            source = f"{item.source_session}:{item.source_seq}"
            ratings_by_item.append(ItemRating(item.item_id, source, ratings[-1] if ratings else None))
    return ratings_by_item
