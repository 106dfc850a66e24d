"""Servers that mean harm, and an interrupt at any moment of a call."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.attack.servers import attack
from tests.support.servers.interrupts import STATES, interrupted_ms


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tenth_of_the_hostile_servers_does_no_harm(seed: int) -> None:
    for outcome in attack(0.1, seed):
        assert outcome.tried >= 40 and outcome.missed == ()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_an_interrupt_takes_effect_at_once(vendor: str, state: str) -> None:
    before = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    assert await interrupted_ms(vendor, state) <= 2_000
    end = time.monotonic() + 10
    while left := [task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()]:
        assert time.monotonic() < end, left
        await asyncio.sleep(0.01)
