"""The homes of a run's cases; each is made while the case before it runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from alita_tui.app.context import AppContext
from alita_tui.app.eval_costs import Key, place_of
from alita_tui.app.eval_session import settle
from alita_tui.spine.errors import AlitaError


class CaseHomes:
    """Where each case of a run has its home and its session."""

    def __init__(self, person: AppContext, folder: Path, *, stream: bool) -> None:
        self._person, self._folder, self._stream = person, folder, stream
        self._settling: dict[Key, asyncio.Task[None]] = {}

    def home(self, key: Key) -> Path:
        """Return the home of a case."""
        return place_of(self._folder, key, stream=self._stream)[0]

    def named(self, key: Key) -> str:
        """Return the id of a case's session in a stream; elsewhere its home has no other, and it is empty."""
        return place_of(self._folder, key, stream=self._stream)[1]

    def settle(self, key: Key) -> None:
        """Begin to make the home of a case, unless it is there."""
        home = self.home(key)
        if key not in self._settling and not home.exists():
            making = asyncio.to_thread(settle, self._person, home)
            self._settling[key] = asyncio.create_task(making)

    async def settled(self, key: Key) -> None:
        """Wait for the home of a case, if it is being made."""
        if mine := self._settling.pop(key, None):
            with suppress(AlitaError):  # the case itself meets it
                await mine

    def unsettled(self) -> tuple[asyncio.Task[None], ...]:
        """Return what still makes homes that no case has asked for."""
        return tuple(self._settling.values())
