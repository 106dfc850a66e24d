"""A key pressed in the moment in which a sequence breaks off, and held: its first byte ends that sequence."""

from __future__ import annotations

import random

import pytest

from tests.attack.inputs.oracle import accidents
from tests.attack.inputs.people import Step
from tests.attack.inputs.simulated import World

BROKEN_OFF = [
    b"\x1b[53:4",
    b"\x1b[",
    b"\x1b[1;2",
    b"\x1bO",
    b"\x1b",
    b"\x1b[<65;1;1",
    b"\x1b[?25",
    b"\x1b[97;5",
]


@pytest.mark.parametrize("sent", BROKEN_OFF, ids=repr)
@pytest.mark.parametrize("delay", [0.46, 0.66, 1.0])
@pytest.mark.parametrize("repeats", [1, 9])
def test_a_held_key_inside_a_broken_sequence_decides_nothing(sent: bytes, delay: float, repeats: int) -> None:
    for seed in range(12):
        world = World(random.Random(f"{seed} swallowed"))
        held = [Step(delay if not n else 0.1, "a", b"a", held=True) for n in range(repeats)]
        world.play(
            [Step(0, "open"), Step(0.6, "other", sent), Step(0.0, "a", b"a"), *held, Step(1.0, "look")]
        )
        assert accidents(world.made, world.shown, world.decided) == []


def test_a_deliberate_key_after_a_broken_sequence_counts() -> None:
    """It is pressed again, after something else."""
    decided = []
    for seed in range(12):
        world = World(random.Random(f"{seed} meant"))
        world.play(
            [Step(0, "open"), Step(0.6, "other", b"\x1b[53:4"), Step(0.0, "a", b"a"), Step(3.0, "down", b"\x1b[B"), Step(1.2, "a", b"a"), Step(1.5, "look")]
        )  # fmt: skip
        decided += world.decided
        assert accidents(world.made, world.shown, world.decided) == []
    assert decided
