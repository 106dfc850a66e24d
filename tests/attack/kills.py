"""Attacks on the sandbox's own processes: each round kills one at a random moment while files run."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.attack.report import Outcome
from tests.sandbox.rounds import VICTIMS, rounds

ROUNDS = 40
"""Of `make attack`; `make bench` has two hundred."""


def attack(share: float, seed: int) -> list[Outcome]:
    """Rounds over all victims; what hung, was left or had no row is named."""
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as name:
        folder = Path(name)
        settings = EngineSettings(cache_dir=str(folder / "cache"))
        asyncio.run(repair(settings, lambda *_: None))
        count = max(len(VICTIMS), round(ROUNDS * min(1.0, share)))
        found = asyncio.run(rounds(settings, folder, count, seed, lanes=2))
    outcomes = []
    for victim in VICTIMS:
        ours = [one for one in found if one.victim == victim]
        missed = tuple(line for one in ours for line in one.problems)
        held = sum(not one.problems for one in ours)
        outcomes.append(Outcome(f"kills: {victim}", len(ours), held, missed))
    return outcomes
