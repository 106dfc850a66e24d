"""What the statistics screen needs; implemented in `app`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from alita_tui.spine.ports.statistics import By, Report


class StatisticsCatalog(Protocol):
    """The statistics of all sessions. Every method may raise AlitaError."""

    async def statistics(self, days: int | None, progress: Callable[[int, int], object]) -> Report:
        """Return the statistics of the newest days, of everything for None.

        `progress` is told, in another thread, how many of the sessions that changed were read, and how many there are.
        """

    async def export_statistics(self, report: Report, by: By) -> str:
        """Write a table as CSV to an unused name in the working folder; return the path."""
