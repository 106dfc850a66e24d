"""The trace as cards: a task, its steps, its answer. The rows of a step or of a build make one card.

A deck receives rows in order and stores the card of each, so that adding a row takes the same time at any length. It
also stores what the person opened.
"""

from __future__ import annotations

from array import array
from typing import Literal, NamedTuple

from alita_tui.events import Rating
from alita_tui.state.ratings import Ratings
from alita_tui.state.rows import Rows
from alita_tui.view.model import RowKind, TraceRow

Level = Literal["answer", "steps", "everything"]
"""How much is shown, except where the person opened or closed something."""
LEVELS: tuple[Level, ...] = ("answer", "steps", "everything")

CardKind = Literal["task", "said", "steps", "step", "build", "thought", "plan", "question", "answer", "note"]

_KINDS: dict[RowKind, CardKind] = {
    "action": "step",
    "observation": "step",
    "run": "step",
    "build": "build",
    "approval": "build",
    "thought": "thought",
    "plan": "plan",
    "question": "question",
    "answer": "answer",
    "task": "task",
}
_PERSON_MARKS = ("steered", "answered")
"""Marks of rows that have the kind `task` but do not begin a task."""
_QUEUE_MARKS = ("queued", "queued, changed", "queued, moved", "cancelled")
_FOLDED: tuple[CardKind, ...] = ("step", "build", "thought", "plan", "note")
"""Cards that fold away with the steps of a task that ended."""


def _restores(row: TraceRow) -> bool:
    """Return True if a row says that a session was opened again without losses."""
    return row.kind == "session" and row.title.startswith("Restored ") and row.tone == "muted"


def _notes(row: TraceRow) -> bool:
    """Return True if a row says that something was noted for later; of the memory rows only these have a `meta`."""
    return row.kind == "memory" and bool(row.meta)


def _queues(row: TraceRow) -> bool:
    """Return True if a row says what became of a task that still waits for its turn."""
    return row.kind == "task" and row.meta in _QUEUE_MARKS[:-1]


def _given(row: TraceRow) -> bool:
    """Return True if a row is a file that the person gave."""
    return row.kind == "file" and row.meta == "given"


class Section:
    """A task with its steps and its answer."""

    __slots__ = ("answered", "builds", "cards", "folded", "header", "notes", "tally", "task")

    def __init__(self, task: int, header: int) -> None:
        self.task = task
        """Index of the row that began it."""
        self.header = header
        """Index of the card that is shown in place of its folded steps."""
        self.cards = array("l")
        self.answered = -1
        """Index of the row of its answer or other end; -1 before."""
        self.folded: bool | None = None
        """The person's choice; None to follow the level."""
        self.tally: dict[str, int] = {}
        """Number of steps by action."""
        self.notes = 0
        """Number of things noted for later."""
        self.builds: list[int] = []


class Card:
    """Some rows that are drawn as one thing."""

    __slots__ = ("at", "build", "kind", "names", "opened", "rows", "section")

    def __init__(self, at: int, kind: CardKind, section: Section | None) -> None:
        self.at = at
        self.kind: CardKind = kind
        self.section = section
        self.rows = array("l")
        """In order; none for the header of a section. No list: the collector would walk through all of them."""
        self.names: tuple[str, ...] = ()
        """Actions, calls and builds whose rows it takes."""
        self.build = ""
        """Id of its build; empty for none."""
        self.opened: bool | None = None
        """As a person chose; None: as the level says."""


class Shown(NamedTuple):
    """What newer rows changed."""

    unchanged: int
    """Number of rows that are unchanged."""
    first: int
    """The first card that is new, or that folds or unfolds."""
    touched: set[int]
    """Cards before `first` that look different."""


class Deck:
    """Rows and their cards. Cards are only appended, and removed from the end after a seek back."""

    def __init__(self) -> None:
        self.rows: Rows[TraceRow] = Rows()
        self.cards: list[Card] = []
        self.level: Level = "steps"
        self.whole: set[int] = set()
        """Rows whose text the person opened although it is usually closed, or the reverse."""
        self.unreadable: set[str] = set()
        """Handles of pictures that cannot be read: they take one line."""
        self.picture_rows: dict[tuple[str, int], int] = {}
        """Lines of pictures that were decoded, by handle and the cells that they may take."""
        self._owner = array("l")
        """Card of each row."""
        self.ratings: dict[int, Rating] = {}
        """The person's rating by card."""
        self._restored: list[int] = []
        """Cards saying that the session was opened again; only the newest is shown."""
        self._named: dict[str, int] = {}
        self._sections: dict[str, Section] = {}
        self._newest: Section | None = None

    def show(self, rows: Rows[TraceRow]) -> Shown:
        """Replace the rows by newer ones, or by earlier ones after a seek; return what changed."""
        earlier = self.rows
        unchanged = min(len(rows), len(earlier))
        if unchanged and rows[unchanged - 1] != earlier[unchanged - 1]:
            unchanged = 0
        first = self._cut(unchanged)
        self.rows = rows
        touched: set[int] = set()
        for index in range(unchanged, len(rows)):
            first = min(first, self._add(index, rows[index], touched))
        return Shown(unchanged, first, {card for card in touched if card < first})

    def rate(self, ratings: Ratings) -> set[int]:
        """Mark the cards that these ratings are about; return the cards that look different."""
        earlier, self.ratings = self.ratings, {}
        for (task_id, call_id, build_id), rating in ratings:
            section = self._sections.get(task_id)
            index = self._named.get(build_id or call_id, -1)
            if not build_id and not call_id and section is not None and section.answered >= 0:
                index = self._owner[section.answered]
            if index >= 0:
                self.ratings[index] = rating
        return {index for index in {*earlier, *self.ratings} if earlier.get(index) != self.ratings.get(index)}

    def card_of(self, row: int) -> int:
        """Return the card of a row."""
        return self._owner[row]

    def rated(self, at: int, row: int) -> int:
        """Return the number of the event that a rating of a card's row is about; 0 for none. A task's is its answer."""
        card = self.cards[at]
        if card.kind in ("task", "steps") and card.section is not None:
            row = card.section.answered
        elif card.kind in ("thought", "plan", "question", "said"):
            row = -1
        elif card.kind == "build":  # its first row may be the request for it, which is not rated
            row = next((row for row in card.rows if self.rows[row].kind == "build"), row)
        elif card.kind == "step":
            row = card.rows[-1]
        return self.rows[row].seq if row >= 0 else 0

    # --- what is shown of it --------------------------------------------------------------

    def folded(self, section: Section) -> bool:
        """Return True if the steps of a section are folded to one line."""
        if section.folded is not None:
            return section.folded
        return self.level == "answer" or (self.level == "steps" and section.answered >= 0)

    def hidden(self, card: Card) -> bool:
        """Return True if a card is folded away; never if it waits for the person or holds what the person gave."""
        section = card.section
        if self._superseded(card):
            return True
        if card.kind == "steps":
            assert section is not None
            content = section.tally or section.notes
            return not content or (section.answered < 0 and not self.folded(section))
        if section is None or card.kind not in _FOLDED or not self.folded(section):
            return False
        if (card.kind == "build" and self._waits(card)) or _given(self.rows[card.rows[0]]):
            return False
        # What a task noted for later comes after its answer and folds with its steps.
        return section.answered < 0 or card.rows[-1] < section.answered or _notes(self.rows[card.rows[0]])

    def _superseded(self, card: Card) -> bool:
        """Return True if it is said elsewhere: by a newer card, or for queued tasks by the line over the composer."""
        if card.kind != "note" or card.opened or self.level == "everything":
            return False
        row = self.rows[card.rows[0]]
        return (_restores(row) and [card.at] != self._restored[-1:]) or _queues(row)

    def _waits(self, card: Card) -> bool:
        newest = self.rows[card.rows[-1]]
        return newest.kind == "approval" and newest.tone == "wait"

    def opened(self, card: Card) -> bool:
        """Return True if a card shows its rows."""
        if card.opened is not None:
            return card.opened
        return self.level == "everything" and card.kind in ("step", "build")

    def toggle(self, card: Card) -> None:
        """Open or close a card, or the steps of its section."""
        if card.kind == "steps" and card.section is not None:
            card.section.folded = not self.folded(card.section)
        else:
            card.opened = not self.opened(card)

    def reveal(self, row: int) -> Card:
        """Unfold and open everything that hides a row; return its card."""
        card = self.cards[self.card_of(row)]
        if self._superseded(card):
            card.opened = True
        if self.hidden(card) and card.section is not None:
            card.section.folded = False
        if len(card.rows) > 1:
            card.opened = True
        return card

    # --- growing and shrinking ------------------------------------------------------------

    def _add(self, index: int, row: TraceRow, touched: set[int]) -> int:
        """Add a row to its card; return the first card that is new, or that folds because of the row."""
        count = len(self.cards)
        card_index = self._named.get(row.key, -1) if row.key and not row.action else -1
        if card_index < 0 and row.within:
            card_index = self._named.get(row.within, -1)
        card = self.cards[card_index] if card_index >= 0 else self._begin(index, row)
        touched.add(card.at)
        if row.key and card.kind in ("step", "build") and row.key not in card.names:
            card.names = (*card.names, row.key)
            self._named[row.key] = card.at
        section = card.section
        if row.kind in ("build", "approval") and row.key and not card.build:
            card.kind, card.build = "build", row.key
            if section is not None:
                section.builds.append(card.at)
        card.rows.append(index)
        self._owner.append(card.at)
        if _restores(row):
            touched.update(self._restored[-1:])
            self._restored.append(card.at)
        if section is None:
            return count
        touched.add(section.header)
        if len(card.rows) == 1 and (name := self._tallied(card, row)):
            section.tally[name] = section.tally.get(name, 0) + 1
        section.notes += _notes(row)
        if row.kind == "answer":
            section.answered = index
            return min(count, section.header)
        return count

    @staticmethod
    def _tallied(card: Card, first_row: TraceRow) -> str:
        """Return the action as which a card is counted; empty if it is not a step."""
        if first_row.action or card.kind not in ("step", "build"):
            return first_row.action
        return "build_tool" if card.kind == "build" else "run_tool"

    def _begin(self, index: int, row: TraceRow) -> Card:
        kind = _KINDS.get(row.kind, "note")
        if kind == "task" and row.meta in (*_PERSON_MARKS, *_QUEUE_MARKS):
            kind = "said" if row.meta in _PERSON_MARKS else "note"
        section = self._sections.get(row.task, self._newest) if row.task else self._newest
        number = len(self.cards)
        if kind == "task":
            section = Section(index, number + 1)
            self._newest = section
            if row.task:
                self._sections[row.task] = section
        card = Card(number, kind, section)
        self.cards.append(card)
        if kind == "task":
            self.cards.append(Card(number + 1, "steps", section))
        elif section is not None:
            section.cards.append(number)
        return card

    def _cut(self, length: int) -> int:
        """Remove rows from the end, down to `length`; return the first card that may look different."""
        changed = len(self.cards)
        touched: set[int] = set()
        for index in range(len(self._owner) - 1, length - 1, -1):
            card = self.cards[self._owner.pop()]
            card.rows.pop()
            self.whole.discard(index)
            changed = min(changed, card.at)
            section = card.section
            if section is not None and section.task < length:
                touched.add(section.header)
                if section.answered >= length:
                    section.answered = -1
        while self.cards and not self._stands(self.cards[-1], length):
            removed = self.cards.pop()
            for name in removed.names:
                if self._named.get(name) == removed.at:
                    del self._named[name]
        while self._restored and self._restored[-1] >= len(self.cards):
            self._restored.pop()
            changed = min(changed, *self._restored[-1:], changed)
        for header in touched:
            changed = min(changed, header)
            self._count_again(self.cards[header].section)
        if changed < len(self.cards) or length == 0:
            live = {id(card.section) for card in self.cards if card.kind == "steps"} if length else set()
            self._sections = {key: section for key, section in self._sections.items() if id(section) in live}
            self._newest = next((card.section for card in reversed(self.cards) if card.section), None)
        return changed

    def _stands(self, card: Card, length: int) -> bool:
        """Return True if a card still has rows; the header of a section stays as long as its task."""
        if card.kind == "steps":
            return card.section is not None and card.section.task < length
        return bool(card.rows)

    def _count_again(self, section: Section | None) -> None:
        """Rebuild a section's list and tally from its remaining cards."""
        if section is None:
            return
        remaining = array("l", (index for index in section.cards if index < len(self.cards)))
        section.cards, section.tally, section.builds, section.notes = remaining, {}, [], 0
        for index in remaining:
            card = self.cards[index]
            first_row = self.rows[card.rows[0]]
            section.notes += _notes(first_row)
            if card.build and not any(self.rows[row].kind in ("build", "approval") for row in card.rows):
                card.kind, card.build = "step", ""
            if card.build:
                section.builds.append(index)
            if name := self._tallied(card, first_row):
                section.tally[name] = section.tally.get(name, 0) + 1
