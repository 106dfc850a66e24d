"""Search over the current library. Tools that changed are indexed when the next search needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from operator import is_
from pathlib import Path

import msgspec

from alita_tui.events import Alias, Reliability, SearchHit, ToolRecord
from alita_tui.registry.index_cache import IndexCache
from alita_tui.registry.search import ToolIndex, wording
from alita_tui.registry.served import History, calibration, served
from alita_tui.registry.trust import RELIED_ON, Use
from alita_tui.spine.examples import example_in_tests
from alita_tui.spine.ports.library import SearchResult
from alita_tui.spine.ranking import Calibration, Served
from alita_tui.spine.ranking.vectors import Vectors


class Finder:
    """The index of a library, with the calibration of its probabilities."""

    def __init__(self, index: Path | None = None, vectors: Vectors | None = None) -> None:
        """`index` is the cache file of a large index; `vectors` are an encoder's."""
        self._index = ToolIndex(IndexCache(index) if index else None)
        self.vectors = vectors
        self._calibration = Calibration()
        self._basis: tuple[date, tuple[Alias, ...]] | None = None
        self._indexed: dict[str, tuple[object, ...]] = {}
        """Each tool as it was when it was indexed."""
        self.stale = True
        """Set when the library has changed."""

    def update(
        self,
        tools: Sequence[ToolRecord],
        history: Mapping[str, History],
        aliases: tuple[Alias, ...],
        now: datetime,
    ) -> None:
        """Index exactly these tools; only those that changed are indexed again."""
        basis = (now.date(), aliases)
        if basis != self._basis:  # older needs count less, and aliases are searched too
            self._basis, self._indexed = basis, {}
        self._index.update(self._changes(tools, history, now), aliases)
        if self.vectors:
            self.vectors.know({
                tool.draft.name: (wording(tool), tuple(need.query for need in served(history[tool.draft.name], now)))
                for tool in tools
            })  # fmt: skip
        self._calibration = calibration(
            track for versions in history.values() for _, track in versions if track is not None
        )
        self.stale = False

    def search(self, query: str, limit: int, without: Collection[str] = ()) -> SearchResult:
        """Return tools that fit, best first, and near misses; without the tools of these names."""
        cosines = self.vectors.cosines(query) if self.vectors else None
        return self._index.search(query, limit, self._calibration, cosines, without)

    def _changes(
        self, tools: Sequence[ToolRecord], history: Mapping[str, History], now: datetime
    ) -> Iterator[tuple[ToolRecord, tuple[Served, ...] | None]]:
        """Yield each tool with the needs it has met, or with None if it has not changed since it was indexed."""
        for record in tools:
            versions = history[record.draft.name]
            basis = (record.draft, *(version_track for version in versions for version_track in version))
            previous = self._indexed.get(record.draft.name, ())
            self._indexed[record.draft.name] = basis
            unchanged = len(previous) == len(basis) and all(map(is_, previous, basis))
            yield record, None if unchanged else served(versions, now)


def with_standing(hit: SearchHit, record: ToolRecord, use: Use | None, reliability: Reliability) -> SearchHit:
    """Return a hit with its reliability, what it may use and an example."""
    example = example_in_tests(record.draft)
    return msgspec.structs.replace(
        hit,
        doubt=reliability.words if reliability.value < RELIED_ON else "",
        grants=record.granted.items,
        worked_at=use.worked_at if use else "",
        example=msgspec.to_builtins(example) if example else None,
    )
