"""Reports the progress of a call to a client that asked for it: each printed line, and that it still runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from alita_tui.spine.ports.serving import Tell

_SILENT_SECONDS = 2.0
"""Seconds after which a client is told that the call is still running."""
_APART_SECONDS = 0.05
"""Minimum seconds between two reports."""


class Reports(Protocol):
    """Sends a report to the client. Met by the SDK's session."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send a report; do nothing if the client asked for none."""


@asynccontextmanager
async def progress(reports: Reports, *, wanted: bool) -> AsyncIterator[Tell]:
    """Yield a function that reports a line about the call. A client that has gone is not an error."""
    lines: list[str] = []
    has_lines = asyncio.Event()

    def tell(line: str) -> None:
        lines[:] = [*lines[-9:], line]
        has_lines.set()

    async def report() -> None:
        step = 0
        while True:
            has_lines.clear()
            batch, lines[:] = lines[:] or ["running"], []
            for line in batch:
                step += 1
                await reports.report_progress(step, None, line)
            await asyncio.sleep(_APART_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(has_lines.wait(), _SILENT_SECONDS)

    if not wanted:
        yield tell
        return
    reporting = asyncio.create_task(report())
    try:
        yield tell
        if lines and not reporting.done():  # its last printed line, held back by the minimum interval
            await asyncio.sleep(_APART_SECONDS * 2)
    finally:
        reporting.cancel()
        reporting.add_done_callback(lambda done: done.cancelled() or done.exception())
