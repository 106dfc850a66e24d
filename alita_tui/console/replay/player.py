"""The interfaces of a replay: a player, and for a running session its tape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from alita_tui.spine.envelope import Envelope
from alita_tui.view.explain import Explanation
from alita_tui.view.fold import RowMaker
from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark


class Player(Protocol):
    """Plays a recording; implemented in `replay`."""

    playing: bool
    stopped: str
    """The breakpoint that playing stopped at, if any."""

    def __aiter__(self) -> AsyncIterator[Envelope]: ...

    @property
    def session_id(self) -> str:
        """The session being played."""

    @property
    def envelopes(self) -> Sequence[Envelope]:
        """All events of the session."""

    @property
    def seq(self) -> int:
        """The number of the event before the position; 0 at the beginning."""

    @property
    def breakpoints(self) -> str:
        """The conditions that playing stops at, as written."""

    def position_of(self, seq: int) -> int:
        """Return the position after the event with this number."""

    def explain(self, seq: int) -> Explanation:
        """Explain why an event happened, what it changed and what it cost."""

    def seek_seq(self, seq: int) -> None:
        """Go to the position after the event with this number."""

    def stop_at(self, conditions: str) -> None:
        """Stop where one of the conditions holds; an empty text clears them. Raises UsageError."""

    def move_break(self, direction: int) -> bool:
        """Go to the next or previous breakpoint; return False if there is none."""

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
        """Recorded seconds per second; infinite for no waiting."""

    @property
    def view(self) -> SessionView:
        """The view at the position."""

    @property
    def marks(self) -> Sequence[Mark | None]:
        """The mark of each event."""

    @property
    def elapsed(self) -> float:
        """Recorded seconds up to the position."""

    @property
    def length(self) -> float:
        """Recorded seconds of the whole session."""

    @property
    def skipped(self) -> float:
        """Seconds of idle time skipped up to the position."""

    def toggle(self) -> None:
        """Play or pause."""

    def faster(self, steps: int = 1) -> None:
        """Change the speed; negative is slower."""

    def seek(self, position: int) -> None:
        """Go to a position."""

    def seek_tenth(self, tenth: int) -> None:
        """Go to a tenth of the session, by number."""

    def move(self, events: int) -> None:
        """Move by some events."""

    def move_step(self, direction: int) -> bool:
        """Go to the next or previous step; return False if there is none."""

    def move_mark(self, kinds: Collection[Mark], direction: int) -> bool:
        """Go to the next or previous event with such a mark; return False if there is none."""

    def find(self, needle: str, direction: int) -> bool:
        """Go to the next or previous event containing the text; return False if there is none."""


class Tape(Protocol):
    """Records the running session; implemented in `replay`."""

    rows_of: RowMaker
    """Makes the trace rows of an event."""

    def add(self, envelope: Envelope, view: SessionView | None = None) -> None:
        """Record an event and the view after it."""

    def player(self) -> Player:
        """Return a player at the end, whose total grows with the session."""
