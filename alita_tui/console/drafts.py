"""Saves text that is typed and not sent: in memory while the console runs, and in a file against a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from alita_tui.spine.errors import AlitaError

_BETWEEN = 0.1
"""Seconds between two writes while somebody types; a kill loses at most the text of that time."""
COMPOSER = "composer"
"""The field for tasks, messages to a running task, and answers."""


class DraftStore(Protocol):
    """Stores drafts in a file. Blocks; may raise OSError or AlitaError."""

    def read(self, session: str, *, fresh: bool) -> Mapping[str, str]:
        """Return a session's drafts by field; with `fresh`, if it has none, those of a new session that was left."""

    def write(self, session: str, fields: Mapping[str, str], *, fresh: bool) -> None:
        """Store the texts of some fields; an empty text removes the draft."""


class Drafts:
    """The drafts of the open session."""

    def __init__(self, store: DraftStore | None = None, *, new: bool = False) -> None:
        """`new`: the session begins now, and takes over the drafts of a new session that was left."""
        self._store = store
        self._new = new
        self._texts: dict[str, str] = {}
        self._unsaved: dict[str, str] = {}
        self._session = ""
        self.fresh = True
        """Whether the session has no task yet."""
        self.failed = ""
        """Why drafts cannot be saved; empty while saving works."""
        self._saving: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @property
    def opened(self) -> bool:
        """Whether the session is known."""
        return bool(self._session)

    def get(self, field: str) -> str:
        """Return what was typed into a field and not sent."""
        return self._texts.get(field, "")

    def keep(self, field: str, text: str) -> None:
        """Save the text of a field. It is written in the background; the newest text wins."""
        if text == self.get(field):
            return
        self._texts[field] = text
        self._unsaved[field] = text
        self._save_soon()

    async def open(self, session: str) -> dict[str, str]:
        """Read the stored drafts and return them. Text typed in the meantime has precedence."""
        self._session = session
        if self._store is None:
            return {}
        try:
            read = await asyncio.to_thread(self._store.read, session, fresh=self._new)
        except (AlitaError, OSError) as error:
            self.failed = str(error)
            return {}
        self._texts = {**read, **self._texts}
        self._save_soon()
        return {field: text for field, text in read.items() if text}

    async def close(self) -> None:
        """Write what is not written yet."""
        self._ending.set()
        if self._saving is not None:
            await asyncio.wait((self._saving,))
        self._write(self._take())

    def _take(self) -> dict[str, str]:
        unsaved, self._unsaved = self._unsaved, {}
        return unsaved

    def _write(self, fields: Mapping[str, str]) -> None:
        if self._store is None or not self._session or not fields:
            return
        try:
            self._store.write(self._session, fields, fresh=self.fresh)
            self.failed = ""
        except (AlitaError, OSError) as error:
            self.failed = str(error)

    def _save_soon(self) -> None:
        if self._store is None or not self._session or not self._unsaved:
            return
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._save(), name="drafts")

    async def _save(self) -> None:
        while self._unsaved:
            await asyncio.to_thread(self._write, self._take())
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _BETWEEN)
