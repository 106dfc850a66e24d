"""Reads envelopes, folds them into views and posts the newest. Live and replay differ only in their source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from alita_tui.console.replay.player import Tape
from alita_tui.spine.ports.stream import EventSource
from alita_tui.view.fold import fold
from alita_tui.view.model import SessionView
from alita_tui.view.trace import rows_for

RATE = 30
"""Maximum repaints per second."""
_POURING_RATE = 3
"""Maximum repaints per second while events pour in, as when a long session is opened."""
_POURING = 400
"""Events since the last repaint above which they count as pouring in."""
_FOLDING_SECONDS = 0.03
"""Seconds of folding before other work gets its turn; with much less, painting takes most of the time."""


@dataclass
class Advanced(Message):
    """There is a newer view to draw."""

    view: SessionView


class Stage:
    """Folds a source and reports the newest view at most `RATE` times a second."""

    def __init__(
        self,
        source: EventSource,
        report: Callable[[SessionView], object],
        *,
        tape: Tape | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Record what is read on `tape`, if given. `clock` returns seconds."""
        self.view = SessionView()
        self._tape = tape
        self.reported = 0
        """Number of views that were reported."""
        self._source = source
        self._report = report
        self._clock = clock
        self._reported_at = float("-inf")
        self._unreported = 0
        """Events since the last report."""
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Read the source to its end; the last view is always reported. Raises what the source raises."""
        try:
            started = self._clock()
            async for envelope in self._source:
                view = fold(self.view, envelope, rows_for if self._tape is None else self._tape.rows_of)
                if self._tape is not None and envelope.durable:
                    self._tape.add(envelope, view)
                if view is not self.view:
                    self.view = view
                    self._unreported += 1
                    self._report_soon()
                if self._clock() - started > _FOLDING_SECONDS:
                    await asyncio.sleep(0)
                    started = self._clock()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._report_now()

    def jump(self, view: SessionView) -> None:
        """Continue from another view, after a seek."""
        self.view = view
        self._report_soon()

    def _report_soon(self) -> None:
        """Report now, or as soon as the rate allows."""
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        due = self._reported_at + 1 / RATE
        if loop.time() >= due:
            self._report_now()
        else:
            self._timer = loop.call_at(due, self._report_unless_pouring)

    def _report_unless_pouring(self) -> None:
        """Report, later if events are pouring in."""
        loop = asyncio.get_running_loop()
        due = self._reported_at + 1 / _POURING_RATE
        if self._unreported > _POURING and loop.time() < due:
            self._timer = loop.call_at(due, self._report_now)
        else:
            self._report_now()

    def _report_now(self) -> None:
        self._timer = None
        self._unreported = 0
        self._reported_at = asyncio.get_running_loop().time()
        self.reported += 1
        self._report(self.view)
