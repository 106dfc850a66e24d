"""What the replay bar asks of a player."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from alita_tui.view.model import SessionView
from alita_tui.view.queries import Mark


class Player(Protocol):
    """What plays a recording. Met by `replay`."""

    playing: bool

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
    def marks(self) -> tuple[Mark | None, ...]:
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
