"""What a word of the person about an answer, a run or a build says of what memory learned from that task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.feedback import standing
from alita_tui.spine.history import of


class Word(NamedTuple):
    """A word that stands about an item of memory."""

    item_id: str
    source: str
    """`session:seq` of what it was learned from."""
    rating: e.Rating | None
    """None where everything was taken back."""


def words_about_memory(history: Sequence[Envelope], task_id: str) -> list[Word]:
    """Return what the person says now of each item that a task taught; nothing where they never said anything.

    A word about the answer is about all of it. As long as there is none, one about a run is about what rests on its
    tool, and one about a build about the recipe that calls it. Derived from the record: again it changes nothing.
    """
    kinds = (e.FeedbackGiven, e.MemoryWritten, e.ToolCalled, e.ToolRegistered)
    events = [(one.task_id, one.event) for one in of(history, *kinds)]
    given = [one for _, one in events if isinstance(one, e.FeedbackGiven) and one.task_id == task_id]
    if not given:
        return []
    tools = {str(one.call_id): one.name for _, one in events if isinstance(one, e.ToolCalled)}
    tools |= {str(one.build_id): one.card.name for _, one in events if isinstance(one, e.ToolRegistered)}
    found = []
    for owner, event in events:
        if isinstance(event, e.MemoryWritten) and owner == task_id:
            item = event.item
            answers: list[e.Rating] = []
            others: list[e.Rating] = []
            for one in standing(given):
                if one.answer:
                    answers.append(one.rating)
                elif tools.get(one.call_id or one.build_id) in item.tools and (one.call_id or item.steps):
                    others.append(one.rating)
            said = answers or others
            source = f"{item.source_session}:{item.source_seq}"
            found.append(Word(item.item_id, source, said[-1] if said else None))
    return found
