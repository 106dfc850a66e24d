"""Laws of a session's memory: facts are in its record, and forgotten items are not recalled."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.events import (
    MemoryForgotten,
    MemoryItem,
    MemoryRecalled,
    MemoryWritten,
    QuestionAnswered,
    Steered,
    TaskSubmitted,
    ToolReturned,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import neutralise
from alita_tui.spine.verbatim import occurrences

_BY_PERSON = ("statement", "answer", "correction")


class MemoryLaws:
    """Checks a stream, event by event."""

    def __init__(self) -> None:
        self._statements: dict[int, str] = {}
        """Events of the person with their texts."""
        self._returned: set[int] = set()
        self._forgotten: set[str] = set()

    def apply(self, seq: int, envelope: Envelope) -> Iterator[tuple[str, str]]:
        """Take in an event; yield each law that it breaks, with how."""
        match envelope.event:
            case TaskSubmitted(text=text) | Steered(text=text) | QuestionAnswered(text=text):
                self._statements[seq] = text
            case ToolReturned():
                self._returned.add(seq)
            case MemoryForgotten(item_id=item_id, back=restored):
                (self._forgotten.discard if restored else self._forgotten.add)(item_id)
            case MemoryRecalled(items=items):
                for item in items:
                    if item.item_id in self._forgotten:
                        yield "forgotten is not recalled", f"{item.item_id} was forgotten before"
            case MemoryWritten(item=item):
                if item.item_id in self._forgotten:
                    yield "forgotten is not written", f"{item.item_id} was forgotten before"
                if item.source_session == envelope.session_id and not self._is_in_record(item):
                    yield (
                        "remember what was said",
                        f"{item.item_id} does not stand in event {item.source_seq}",
                    )
            case _:
                pass

    def _is_in_record(self, item: MemoryItem) -> bool:
        """Return whether the event that a fact names contains it; other items derive from a whole task and pass."""
        if item.origin == "result":
            return item.source_seq in self._returned
        if item.origin not in _BY_PERSON:
            return True
        # The item's text may begin with its subject or the question, which the statement lacks.
        statement = neutralise(self._statements.get(item.source_seq, ""))
        wordings = (
            item.text,
            item.text.removeprefix(f"{item.subject}: "),
            item.text.removeprefix(f"{item.subject} → "),
        )
        return any(True for wording in wordings for _ in occurrences(wording, statement))
