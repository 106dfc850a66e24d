"""Attacks on the way from a person's hands to a verdict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.attack.report import Outcome


def attack(share: float, seed: int) -> list[Outcome]:
    """Try a share of all sequences, chosen by a seed; what decided by accident is named.

    Each section has to end in verdicts as well: where nothing decides, nothing was tried.
    """
    from tests.attack.inputs import real, simulated

    found = []
    with ThreadPoolExecutor(1) as beside:
        waited = beside.submit(real.attack, share, seed)
        ran = (("simulated", 0.05, simulated.attack(share, seed)), ("pseudo-terminal", 0.02, waited.result()))
    for section, least, (tried, missed, verdicts) in ran:
        if verdicts.total() < tried * least:
            missed.append(f"{section}: only {verdicts.total()} of {tried} sequences ended in a verdict")
        held = max(0, tried - len(missed))
        found.append(Outcome(f"inputs: {section}", tried, held, tuple(missed)))
    return found
