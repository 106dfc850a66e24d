"""What an attack on a part of the product came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One section of attacks: how many were tried, how many were held off, and which were not."""

    section: str
    tried: int
    held: int
    missed: tuple[str, ...] = ()
