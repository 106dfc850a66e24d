"""Runs checks over one draft side by side, each with a time limit, and reports each as soon as it is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from alita_tui.events import GateResult, GateRow
from alita_tui.spine.errors import RequirementsError, SandboxUnavailable
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, Check, CouldNotRun

LONGEST = 90.0
"""Seconds that one check may take."""
_MOST_TIME = 4.0
"""Most that `more_time` returns: a limit beyond that is meant for slow tools, not for a slow machine."""


def more_time(limits: Limits) -> float:
    """Return the factor on the time of checks, 1 to 4: a person with a slow machine raises the limit of all runs."""
    return min(max(1.0, limits.wall_seconds / Limits().wall_seconds), _MOST_TIME)


async def run_check(check: Check, case: Case, *, longest: float = LONGEST) -> GateResult:
    """Return the result of one check; `skipped` with the reason if it could not run, which does not count as passed."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(longest):
            result = await check.check(case)
    except CouldNotRun as error:
        result = _skipped(check, error.message, error.rows)
    except TimeoutError:
        result = _skipped(check, f"it was not done after {longest:.0f} seconds")
    except (SandboxUnavailable, RequirementsError) as error:
        result = _skipped(check, f"the sandbox did not run it: {error.message}")
    except Exception as error:  # noqa: BLE001  # drafts are hostile: one that breaks a check must not end the session
        result = _skipped(check, f"it broke off: {type(error).__name__}: {one_line(str(error), 200)}")
    return msgspec.structs.replace(result, duration_ms=(time.monotonic() - started) * 1000)


async def run_checks(
    checks: Sequence[Check],
    case: Case,
    report: Callable[[GateResult], Awaitable[None]],
    *,
    longest: float = LONGEST,
) -> tuple[GateResult, ...]:
    """Return the results in the order of the checks; `report` is called with each when it is done.

    Cancellation, or an error in `report`, ends all of them.
    """

    async def run(check: Check) -> GateResult:
        result = await run_check(check, case, longest=longest)
        await report(result)
        return result

    tasks = [asyncio.create_task(run(check)) for check in checks]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _skipped(check: Check, reason: str, rows: tuple[GateRow, ...] = ()) -> GateResult:
    return GateResult(gate=check.name, state="skipped", summary=one_line(reason, 300), rows=rows)
