"""Files that the person gives with a task or to a running one."""

from __future__ import annotations

from pathlib import Path

from alita_tui import events as e
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.artefacts import Artefacts


class GivenFiles:
    """Turns them into artefacts."""

    def __init__(self, bus: Bus, artefacts: Artefacts) -> None:
        self._bus = bus
        self._artefacts = artefacts

    async def take_in(self, paths: tuple[str, ...], otherwise: str) -> tuple[str, ...] | None:
        """Record files that the person gives; return their handles, or None after saying why one cannot be taken.

        `otherwise` begins the error message, with what is not done in that case.
        """
        handles: list[str] = []
        try:
            for path in paths:
                artefact = await self._bus.save_with(self._artefacts.add, Path(path))
                await self._bus.emit(e.ArtefactAdded(artefact=artefact, origin="person"))
                handles.append(artefact.handle)
        except UsageError as error:
            text = f"{otherwise} {error.message}"
            await self._bus.emit(e.NoticeRaised(level="error", text=text, hint=error.hint))
            return None
        return tuple(handles)
