"""When a verdict counts: only quiet arms, without limit. Pure.

Times are seconds of one monotonic clock. Nobody says when a key was made; what is known is a time after which it
certainly was (`TimedInput.after`, see `InputTiming`), and that decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

QUIET = 0.45
"""Seconds without any input before a verdict: 425 ms are promised, the rest is for what a keyboard may vary."""
ALONE = 0.05
"""Seconds without any input after a verdict: 30 ms are promised."""
ALONE_AGAIN = 0.16
"""The same where the key was pressed lately already: it may be held, and its next repetition be due."""
LATELY = 2.5
"""Seconds for which a key counts as pressed lately; longer than keyboards wait before they repeat."""
STALL = 0.25
"""Seconds between two looks at the terminal's input after which what is found is no answer to what is shown."""

Objection = Literal["", "unseen", "hurried", "held", "stalled"]
"""Why a key is no verdict: what it is about was not painted, input came before, it may be held down, or it waited."""


@dataclass(frozen=True, slots=True)
class TimedInput:
    """One input, and what is known of when it was made."""

    number: int
    """Counts all inputs from 1."""
    what: str
    """The key's name, or what else it was, such as `paste`."""
    at: float
    """When it was read."""
    after: float
    """It was made after this time."""
    since: float
    """When the input before it was read, or something last moved on screen."""
    last: str
    """The last key, click or turn of the wheel before it, anywhere in the console."""
    lately: bool = False
    """The same key was pressed a moment ago, even if something else was pressed since."""
    repeated: bool = False
    """The terminal says that the key is held."""
    stalled: bool = False
    """It may have waited to be read for longer than `STALL`."""

    @property
    def alone(self) -> float:
        """Seconds of silence that have to follow."""
        return ALONE_AGAIN if self.lately else ALONE


def objection(heard: TimedInput, painted: float | None) -> Objection:
    """What speaks against an input as a verdict on what was painted at a time; None: it is not painted yet."""
    if painted is None or heard.after <= painted:
        return "unseen"
    if heard.stalled:
        return "stalled"
    if heard.repeated or heard.last == heard.what:
        return "held"
    return "" if heard.after - max(heard.since, painted) >= QUIET else "hurried"
