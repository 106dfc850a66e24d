"""The homes of a run's cases; each is made while the case before it runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.case_session import prepare_home
from alita_tui.app.evaluation.costs import Key, place_of
from alita_tui.spine.errors import AlitaError


class CaseHomes:
    """Where each case of a run has its home and its session."""

    def __init__(self, person: AppContext, folder: Path, *, stream: bool) -> None:
        self._person, self._folder, self._stream = person, folder, stream
        self._making: dict[Key, asyncio.Task[None]] = {}

    def home(self, key: Key) -> Path:
        """Return the home of a case."""
        return place_of(self._folder, key, stream=self._stream)[0]

    def session_id(self, key: Key) -> str:
        """Return the id of a case's session in a stream's home; empty for a home with a single session."""
        return place_of(self._folder, key, stream=self._stream)[1]

    def prepare(self, key: Key) -> None:
        """Begin to make the home of a case if it does not exist."""
        home = self.home(key)
        if key not in self._making and not home.exists():
            making = asyncio.to_thread(prepare_home, self._person, home)
            self._making[key] = asyncio.create_task(making)

    async def prepared(self, key: Key) -> None:
        """Wait for the home of a case, if it is being made."""
        if making := self._making.pop(key, None):
            with suppress(AlitaError):  # the case reports it when it opens its home
                await making

    def unfinished(self) -> tuple[asyncio.Task[None], ...]:
        """Return the tasks that make homes which no case has waited for yet."""
        return tuple(self._making.values())
