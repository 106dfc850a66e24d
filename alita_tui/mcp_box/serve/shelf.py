"""Chooses the tools that are listed to clients, and notices changes. The list is short, as it costs context."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from alita_tui.events import ToolRecord
from alita_tui.mcp_box.serve.descriptors import OWN, described, own_tools
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.serving import Served

LOOK_SECONDS = 1.0
"""Seconds between checks for changes by other processes."""


class Shelf:
    """The served tools, as of when the library was last read."""

    def __init__(self, served: Served, *, listed: int) -> None:
        """`listed` is the most tools that are listed; a search finds the others."""
        self._served = served
        self._most = listed
        self._fingerprint: object = None
        self._records: dict[str, ToolRecord] = {}
        self._before: dict[str, ToolRecord] = {}
        """Tools that were served earlier, so that a client learns why one no longer is."""
        self.listed: list[dict[str, Any]] = []
        """The descriptors, alita's own ones first."""

    def get(self, name: str) -> ToolRecord | None:
        """Return a tool that is or was served."""
        return self._records.get(name) or self._before.get(name)

    async def look(self) -> bool:
        """Read the library; return True if the list changed. Raises StoreError."""
        records = await asyncio.to_thread(self._served.tools)
        builds = self._served.builds
        fingerprint = (
            builds,
            *((record.draft.name, record.version, record.digest, record.state) for record in records),
        )
        if fingerprint == self._fingerprint:
            return False
        self._before |= self._records
        self._fingerprint, self._records = fingerprint, {str(record.draft.name): record for record in records}
        own_descriptors = own_tools(searches=len(records) > self._most, builds=builds)
        previous, self.listed = self.listed, [*own_descriptors, *map(described, self._chosen(records))]
        return previous != self.listed

    def _chosen(self, records: tuple[ToolRecord, ...]) -> list[ToolRecord]:
        """Return the most used tools, sorted by name: a stable order keeps a client's prompt cache valid."""
        library_tools = [record for record in records if record.draft.name not in OWN]
        most_used = sorted(library_tools, key=lambda record: (-record.runs, record.draft.name))[: self._most]
        return sorted(most_used, key=lambda record: record.draft.name)

    async def watch(self, announce: Callable[[], Awaitable[None]]) -> None:
        """Call `announce` whenever the list changes, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if await self.look():
                    await announce()
            except AlitaError:
                continue  # the library is read again later
