"""Many texts in a few arrays of word numbers, accessible by text and by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from alita_tui.spine.ranking.likeness import Floats, Ids

Places = npt.NDArray[np.int64]

END = -1
"""Ends a query in a sequence."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One text: its stems, and word by word what it says and the queries it has served."""

    ids: Ids
    """The different stems, ascending."""
    counts: Floats
    """How often each occurs, weighted."""
    own: Ids
    """The words of the text itself as written, in order."""
    sequence: Ids
    """The words of the served queries as written, in order, each query ended by END."""
    served: int
    """Number of served queries."""


class Segment:
    """Some texts by row, and their words. Only `current` ever changes."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """`arrays` are those of `packed`, or of another segment."""
        self.arrays = dict(arrays)
        self.starts: Ids = arrays["starts"]
        self.ids: Ids = arrays["ids"]
        self.counts: Floats = arrays["counts"]
        self.own_starts: Ids = arrays["own_starts"]
        self.own: Ids = arrays["own"]
        self.sequence_starts: Ids = arrays["sequence_starts"]
        self.sequence: Ids = arrays["sequence"]
        self.served: Ids = arrays["served"]
        self.current = np.ones(len(self.served), np.bool_)
        """False for rows that were removed or replaced."""
        rows = np.repeat(np.arange(len(self.served), dtype=np.int32), np.diff(self.starts))
        self.lengths: Floats = np.bincount(rows, self.counts, len(self.served)).astype(np.float32)
        # a sort of keys is several times faster than an argsort
        keys = np.sort((self.ids.astype(np.uint64) << np.uint64(32)) | np.arange(len(rows), dtype=np.uint64))
        order = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
        self._rows = rows[order]
        self._counts = self.counts[order]
        self._word_starts = np.concatenate(([0], np.cumsum(np.bincount(self.ids))))

    def __len__(self) -> int:
        return len(self.served)

    def entry(self, row: int) -> Entry:
        """Return the text of a row."""
        stems = slice(self.starts[row], self.starts[row + 1])
        own = slice(self.own_starts[row], self.own_starts[row + 1])
        sequence = slice(self.sequence_starts[row], self.sequence_starts[row + 1])
        return Entry(
            self.ids[stems], self.counts[stems], self.own[own], self.sequence[sequence], int(self.served[row])
        )

    def having(self, word: int) -> tuple[Ids, Floats]:
        """Return the rows that have a word, and how often."""
        if word + 1 >= len(self._word_starts):
            return self._rows[:0], self._counts[:0]
        these = slice(self._word_starts[word], self._word_starts[word + 1])
        return self._rows[these], self._counts[these]


def packed(entries: Sequence[Entry]) -> dict[str, npt.NDArray[Any]]:
    """Return texts as arrays."""
    return {
        "starts": _starts([len(entry.ids) for entry in entries]),
        "ids": _joined([entry.ids for entry in entries], np.int32),
        "counts": _joined([entry.counts for entry in entries], np.float32),
        "own_starts": _starts([len(entry.own) for entry in entries]),
        "own": _joined([entry.own for entry in entries], np.int32),
        "sequence_starts": _starts([len(entry.sequence) for entry in entries]),
        "sequence": _joined([entry.sequence for entry in entries], np.int32),
        "served": np.array([entry.served for entry in entries], np.int32),
    }


def gathered(starts: Ids, rows: Ids) -> tuple[Places, Places]:
    """Return the places of all elements of some rows, and for each of them which of the rows it is in."""
    lengths = (starts[rows + 1] - starts[rows]).astype(np.int64)
    of_row = np.repeat(np.arange(len(rows)), lengths)
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) - before[of_row] + starts[rows][of_row]
    return places.astype(np.int64), of_row.astype(np.int64)


def _starts(lengths: Sequence[int]) -> Ids:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int32)


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(kind, copy=False) if parts else np.empty(0, kind)
