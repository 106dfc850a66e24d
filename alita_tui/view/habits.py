"""How carefully a person has been deciding, from the audit log. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

_NEWEST = 20
_SECONDS_A_LINE = 0.25
"""Seconds per line below which code was not read: skimming takes about a quarter of a second."""


class Look(msgspec.Struct, frozen=True):
    """One verdict given on screen."""

    seen_ms: float
    read: bool
    """True if the end of the code was on screen."""


class Habits(msgspec.Struct, frozen=True):
    """Figures of the newest verdicts."""

    verdicts: int = 0
    median_seconds: float = 0.0
    read_share: float = 0.0
    """Share of builds that were read to the end, 0 to 1."""

    @property
    def summary(self) -> str:
        """A summary in one line; empty if too little is known."""
        if self.verdicts < 3:
            return ""
        median = (
            f"{self.median_seconds:.1f} s"
            if self.median_seconds < 60
            else f"{self.median_seconds / 60:.0f} min"
        )
        return f"last {self.verdicts} verdicts: median {median}, {self.read_share:.0%} read to the end"

    @property
    def hasty(self) -> bool:
        """True if verdicts come too fast, or with too little code read, to be judgements."""
        return self.verdicts >= 3 and (self.median_seconds < 3 or self.read_share < 0.5)


def habits(looks: Sequence[Look]) -> Habits:
    """Return the figures of the newest verdicts; `looks` are oldest first."""
    newest = looks[-_NEWEST:]
    if not newest:
        return Habits()
    return Habits(
        verdicts=len(newest),
        median_seconds=median(look.seen_ms for look in newest) / 1000,
        read_share=sum(look.read for look in newest) / len(newest),
    )


def too_fast(lines: int, seen_ms: float) -> bool:
    """Return True if the time was too short to read that many lines."""
    return seen_ms / 1000 < lines * _SECONDS_A_LINE
