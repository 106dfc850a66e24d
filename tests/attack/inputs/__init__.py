"""Attacks on the way from a person's hands to a verdict."""

from __future__ import annotations

from attack.report import Outcome


def attack(share: float, seed: int) -> list[Outcome]:
    """Try a share of all sequences, chosen by a seed; what decided by accident is named.

    Each section has to end in verdicts as well: where nothing decides, nothing was tried.
    """
    from attack.inputs import real, simulated

    found = []
    for section, one, least in (("simulated", simulated, 0.05), ("pseudo-terminal", real, 0.02)):
        tried, missed, verdicts = one.attack(share, seed)
        if verdicts.total() < tried * least:
            missed.append(f"{section}: only {verdicts.total()} of {tried} sequences ended in a verdict")
        held = max(0, tried - len(missed))
        found.append(Outcome(f"inputs: {section}", tried, held, tuple(missed)))
    return found
