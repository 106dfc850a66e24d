"""When a verdict counts: only after a quiet time. Pure.

Times are seconds of one monotonic clock. A terminal does not report when a key was pressed. Known is only a time after
which it was certainly pressed (`TimedInput.after`, see `InputTiming`), and that time decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

QUIET = 0.45
"""Seconds without input before a verdict: 425 ms promised, plus a margin for the keyboard."""
ALONE = 0.05
"""Seconds without input after a verdict: 30 ms promised, plus a margin."""
ALONE_AGAIN = 0.16
"""The same for a key that was pressed recently: it may be held, with a repetition due."""
LATELY = 2.5
"""Seconds for which a key counts as pressed recently; longer than any keyboard's repeat delay."""
STALL = 0.25
"""Seconds between two polls after which an input may have been meant for an older screen."""

Objection = Literal["", "unseen", "hurried", "held", "stalled"]
"""Why a key is no verdict: screen not painted yet, other input just before, maybe held down, or read late."""


@dataclass(frozen=True, slots=True)
class TimedInput:
    """An input, and what is known about when it was made."""

    number: int
    """Number of the input, from 1."""
    what: str
    """The key's name, or for example `paste`."""
    at: float
    """When it was read."""
    after: float
    """It was made after this time."""
    since: float
    """When the previous input was read, or something last moved on screen."""
    last: str
    """The previous key, click or wheel turn anywhere in the console."""
    lately: bool = False
    """The same key was pressed recently, even if others were since."""
    repeated: bool = False
    """The terminal reports the key as held."""
    stalled: bool = False
    """It may have waited longer than `STALL` to be read."""

    @property
    def alone(self) -> float:
        """Seconds without input that must follow."""
        return ALONE_AGAIN if self.lately else ALONE


def objection(timed: TimedInput, painted: float | None) -> Objection:
    """Return why an input is no verdict on a screen painted at a time (None: not yet); empty if it counts."""
    if painted is None or timed.after <= painted:
        return "unseen"
    if timed.stalled:
        return "stalled"
    if timed.repeated or timed.last == timed.what:
        return "held"
    return "" if timed.after - max(timed.since, painted) >= QUIET else "hurried"
