"""Which tools are listed to clients, and when that changed. A long list costs context, so it is short."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from alita_tui.events import ToolRecord
from alita_tui.mcp_box.serve.descriptors import OWN, described, own_tools
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.serving import Served

LOOK_SECONDS = 1.0
"""How often the library is looked at for what another process did."""


class Shelf:
    """The served tools as of the last look at the library."""

    def __init__(self, served: Served, *, listed: int) -> None:
        """`listed` is how many tools are listed before the rest is found by search."""
        self._served = served
        self._most = listed
        self._seen: object = None
        self._records: dict[str, ToolRecord] = {}
        self._before: dict[str, ToolRecord] = {}
        """Tools that were served earlier, so that a client is told why one no longer is."""
        self.listed: list[dict[str, Any]] = []
        """The descriptors, alita's own ones first."""

    def get(self, name: str) -> ToolRecord | None:
        """Return a tool that is served, or was, as it was when last looked at."""
        return self._records.get(name) or self._before.get(name)

    async def look(self) -> bool:
        """Look at the library; return whether other tools are listed than before. Raise StoreError."""
        records = await asyncio.to_thread(self._served.tools)
        builds = self._served.builds
        seen = (
            builds,
            *((record.draft.name, record.version, record.digest, record.state) for record in records),
        )
        if seen == self._seen:
            return False
        self._before |= self._records
        self._seen, self._records = seen, {str(record.draft.name): record for record in records}
        own = own_tools(searches=len(records) > self._most, builds=builds)
        before, self.listed = self.listed, [*own, *map(described, self._chosen(records))]
        return before != self.listed

    def _chosen(self, records: tuple[ToolRecord, ...]) -> list[ToolRecord]:
        """Return the most used tools, by name: an order that stays keeps a client's cache of its prompt."""
        free = [record for record in records if record.draft.name not in OWN]
        most_used = sorted(free, key=lambda one: (-one.runs, one.draft.name))[: self._most]
        return sorted(most_used, key=lambda one: one.draft.name)

    async def watch(self, announce: Callable[[], Awaitable[None]]) -> None:
        """Call `announce` whenever other tools are listed, for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if await self.look():
                    await announce()
            except AlitaError:
                continue  # a library that cannot be read now is looked at again
