"""All gates over one draft: at the same time, each with a time of its own, each told as soon as it is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from alita_tui.events import GateResult, GateRow
from alita_tui.spine.errors import RequirementsError, SandboxUnavailable
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.gates.case import Case, CouldNotRun, Gate

LONGEST = 90.0
"""Seconds that one gate may take."""


async def look(gate: Gate, case: Case, *, longest: float = LONGEST) -> GateResult:
    """What one gate found; where it could not look, the reason, which is no pass."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(longest):
            found = await gate.check(case)
    except CouldNotRun as error:
        found = _skipped(gate, error.message, error.rows)
    except TimeoutError:
        found = _skipped(gate, f"it was not done after {longest:.0f} seconds")
    except (SandboxUnavailable, RequirementsError) as error:
        found = _skipped(gate, f"the sandbox did not run it: {error.message}")
    except Exception as error:  # noqa: BLE001  # drafts are hostile: one that upsets a gate ends no session
        found = _skipped(gate, f"it broke off: {type(error).__name__}: {one_line(str(error), 200)}")
    return msgspec.structs.replace(found, duration_ms=(time.monotonic() - started) * 1000)


async def look_all(
    gates: Sequence[Gate],
    case: Case,
    told: Callable[[GateResult], Awaitable[None]],
    *,
    longest: float = LONGEST,
) -> tuple[GateResult, ...]:
    """What all of them found, in their order; each is told when it is done.

    Cancelling it, or an error in one, ends them all.
    """

    async def one_of(gate: Gate) -> GateResult:
        found = await look(gate, case, longest=longest)
        await told(found)
        return found

    looks = [asyncio.create_task(one_of(gate)) for gate in gates]
    try:
        return tuple(await asyncio.gather(*looks))
    finally:
        for one in looks:
            one.cancel()
        await asyncio.gather(*looks, return_exceptions=True)


def _skipped(gate: Gate, reason: str, rows: tuple[GateRow, ...] = ()) -> GateResult:
    return GateResult(gate=gate.name, state="skipped", summary=one_line(reason, 300), rows=rows)
