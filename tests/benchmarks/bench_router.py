"""A dead provider before a well one: what it adds to the calls, on a clock that only waiting moves."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable

from alita_tui.events import ModelErrorKind
from tests.support.servers.interrupts import STATES, interrupted_ms
from tests.support.simulation import dead_minute

_VENDORS = ("openai", "anthropic")
Row = Callable[..., dict[str, float | str | None]]


def router(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Seconds that a provider that is dead for a minute adds to a call, over kinds of failure and seeds."""
    kinds: tuple[ModelErrorKind, ...] = ("connection", "server", "overloaded", "truncated", "timeout")
    days = [asyncio.run(dead_minute(kind, seed)) for kind in kinds for seed in range(50)]
    added = [seconds for _, calls, _ in days for seconds in calls]
    results["router.dead_added_median"] = row(statistics.median(added), "s")
    results["router.dead_added_worst"] = row(max(added), "s")
    results["router.dead_attempts_worst"] = row(max(attempts for attempts, _, _ in days), "")
    interrupts = [asyncio.run(interrupted_ms(vendor, state)) for vendor in _VENDORS for state in STATES]
    results["llm.interrupt_ms"] = row(max(interrupts), "ms")
