"""A tenth of the attacks on records, chosen by the commit; `make attack` tries them all."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.attack.records import attack


def _seed() -> int:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return int(done.stdout.strip() or "0", 16) % 2**32


def test_no_rewritten_record_goes_unnoticed() -> None:
    outcomes = attack(0.1, _seed())
    assert [line for one in outcomes for line in one.missed] == []
    assert sum(one.tried for one in outcomes) >= 30
    assert all(one.held == one.tried for one in outcomes)
