"""What an attack on the product came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One section of `make attack`."""

    section: str
    tried: int
    held: int
    missed: tuple[str, ...] = ()
    """What did not hold, one line each."""
