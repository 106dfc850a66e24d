"""A live session's events: first the recorded ones, then new ones."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from itertools import islice

from alita_tui.spine.bus import Subscription
from alita_tui.spine.envelope import Envelope


class LiveSource:
    """Yields the session's recorded events, then new ones as they happen. Implements `EventSource`."""

    def __init__(self, history: Sequence[Envelope], news: Subscription) -> None:
        self.history = history
        """Grows with the session."""
        self._recorded_count = len(history)
        self._news = news
        self.caught_up = asyncio.Event()
        """Set once the reader has processed all events that were recorded when the session was opened."""

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        for envelope in islice(self.history, self._recorded_count):
            yield envelope
        self.caught_up.set()
        gc.freeze()  # the session and its screen stay in memory, so no collection needs to scan them
        async for envelope in self._news:
            yield envelope
