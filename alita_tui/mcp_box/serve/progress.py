"""Progress of one call, to a client that asked for it: each line that the tool prints, and a sign of life between."""

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
        """Send one; do nothing if the client asked for none."""


@asynccontextmanager
async def progress(reports: Reports, *, wanted: bool) -> AsyncIterator[Tell]:
    """Yield a function that reports a line about the call; a client that is gone is not an error."""
    lines: list[str] = []
    news = asyncio.Event()

    def tell(line: str) -> None:
        lines[:] = [*lines[-9:], line]
        news.set()

    async def report() -> None:
        step = 0
        while True:
            news.clear()
            batch, lines[:] = lines[:] or ["running"], []
            for line in batch:
                step += 1
                await reports.report_progress(step, None, line)
            await asyncio.sleep(_APART_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _SILENT_SECONDS)

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
