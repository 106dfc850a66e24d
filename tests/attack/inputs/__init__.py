"""Attacks on the way from a person's hands to a verdict."""

from __future__ import annotations

from attack.report import Outcome


def attack(share: float, seed: int) -> list[Outcome]:
    """Try a share of all sequences, chosen by a seed; what decided by accident is named."""
    from attack.inputs import real

    tried, missed, _ = real.attack(share, seed)
    return [Outcome("inputs: pseudo-terminal", tried, tried - len(missed), tuple(missed))]
