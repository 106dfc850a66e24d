"""What a replay asks of its player, and a rewound session of its tape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from alita_tui.spine.envelope import Envelope
from alita_tui.view.explain import Explanation
from alita_tui.view.fold import RowMaker
from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark


class Player(Protocol):
    """What plays a recording. Met by `replay`."""

    playing: bool
    stopped: str
    """The breakpoint that playing stopped at; empty when it did not."""

    def __aiter__(self) -> AsyncIterator[Envelope]: ...

    @property
    def session_id(self) -> str:
        """The session that is played."""

    @property
    def envelopes(self) -> Sequence[Envelope]:
        """All its events."""

    @property
    def seq(self) -> int:
        """The number of the event just before the position; 0 at the beginning."""

    @property
    def breakpoints(self) -> str:
        """The conditions that playing stops at, as they were written."""

    def position_of(self, seq: int) -> int:
        """The position just after the event with a number."""

    def explain(self, seq: int) -> Explanation:
        """Why an event happened, what it changed and what it cost."""

    def seek_seq(self, seq: int) -> None:
        """Go to just after the event with a number."""

    def stop_at(self, conditions: str) -> None:
        """Stop where one of the conditions holds; none with an empty text. Raises UsageError."""

    def move_break(self, direction: int) -> bool:
        """Go to the next or previous event that a breakpoint holds for; False where there is none."""

    def close(self) -> None:
        """End the iteration."""

    @property
    def position(self) -> int:
        """How many events have happened."""

    @property
    def total(self) -> int:
        """How many events there are."""

    @property
    def speed(self) -> float:
        """Recorded seconds in a second; infinite for no waiting."""

    @property
    def view(self) -> SessionView:
        """The view that the next event follows on."""

    @property
    def marks(self) -> Sequence[Mark | None]:
        """The mark of each event."""

    @property
    def elapsed(self) -> float:
        """Recorded seconds up to here."""

    @property
    def length(self) -> float:
        """Recorded seconds of the whole session."""

    @property
    def skipped(self) -> float:
        """Recorded seconds of idle time left out up to here."""

    def toggle(self) -> None:
        """Play or pause."""

    def faster(self, steps: int = 1) -> None:
        """Change the speed; negative is slower."""

    def seek(self, position: int) -> None:
        """Go to a position."""

    def seek_tenth(self, tenth: int) -> None:
        """Go to a tenth of the session."""

    def move(self, events: int) -> None:
        """Go some events on, or back."""

    def move_step(self, direction: int) -> bool:
        """Go to the next or previous step; False at the last."""

    def move_mark(self, kinds: Collection[Mark], direction: int) -> bool:
        """Go to the next or previous event so marked; False where there is none."""

    def find(self, needle: str, direction: int) -> bool:
        """Go to the next or previous event with a text; False where there is none."""


class Tape(Protocol):
    """The running session, kept as it goes on. Met by `replay`."""

    rows_of: RowMaker
    """Makes the rows of an event in the trace."""

    def add(self, envelope: Envelope, view: SessionView | None = None) -> None:
        """Take in an event, and the view after it."""

    def player(self) -> Player:
        """A player that stands at the end and whose total grows with the session."""
