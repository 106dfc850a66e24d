"""A fiftieth of the frames, chosen by the commit; `make attack` tries all 100,000."""

from __future__ import annotations

from tests.attack.commit import seed_of_commit
from tests.attack.frames import attack


def test_any_output_of_a_container_becomes_a_report_or_a_named_error() -> None:
    (outcome,) = attack(0.02, seed_of_commit())
    assert outcome.missed == ()
    assert outcome.held == outcome.tried == 2000
