"""Tells texts that rank close to each other apart by the queries that they have served.

What separates two similar tools is what people asked of one and not of the other. So the decision is fitted for each
query anew, on the served queries of the few best texts alone: kernel ridge regression (Saunders et al., "Ridge
Regression Learning Algorithm in Dual Variables", 1998) on words and pairs of neighbouring words. The start and the end
of a query count as words in pairs: requests for one tool often begin alike.

This decides which text comes first. The others gain by resembling texts with high scores: what they have served is
close to what is asked (Diaz, "Regularizing query-based retrieval scores", 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alita_tui.spine.ranking.likeness import Floats, Ids
from alita_tui.spine.ranking.segment import END, Entry, Places

NEWEST = 20
"""Served queries of a text that are read: the newest."""
_RIDGE = 0.1
"""How far the decision may be wrong about each served query."""


_NEAREST = 5
"""How many of the others support a text."""


class Comparison(NamedTuple):
    """The best texts for a query, compared by the queries that they have served."""

    contrasts: Floats
    """For each text how much more its queries resemble the query than those of the others do; adds up to 0."""
    alike: Floats
    """Cosine, from 0 to 1, of each text (row) with each of the `_NEAREST` others that resemble it most; otherwise 0."""


class _Features(NamedTuple):
    """Words and pairs, each once for an example that has it."""

    examples: Places
    keys: Places
    """A word's number; for a pair a number above those of all words."""
    values: Floats


def compare(entries: Sequence[Entry], query: Sequence[int], size: int) -> Comparison:
    """Return how texts compare; all values are 0 if no text has served a query.

    `query` is the numbers of its words; all numbers are below `size`.
    """
    sequences = [_newest(entry.sequence) for entry in entries]
    counts = [int(np.count_nonzero(sequence == END)) for sequence in sequences]
    if not any(counts):
        return Comparison(np.zeros(len(entries), np.float32), np.zeros((len(entries),) * 2, np.float32))
    # each text as a whole is an example as well, for its own words
    owners = np.concatenate((np.repeat(np.arange(len(entries)), counts), np.arange(len(entries))))
    rows = _rows(
        [
            _of_sequence(np.concatenate(sequences), size, 0),
            _of_texts(entries, sum(counts)),
            _of_sequence(np.array([*query, END], np.int32), size, len(owners)),
        ],
        len(owners),
        size,
    )
    known, wanted = rows[:-1], rows[-1]
    kernel = known @ known.T
    alike = _nearest(kernel, owners)
    kernel[np.diag_indices(len(owners))] = 1 + _RIDGE
    weights = np.linalg.solve(kernel, known @ wanted)
    resembling = np.bincount(owners, weights, len(entries))
    above: Floats = (resembling - resembling.mean()).astype(np.float32)
    return Comparison(above, alike)


def _nearest(kernel: Floats, owners: Places) -> Floats:
    """Return the cosines of texts with the others that resemble them most, from the products of their examples."""
    ordered = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[ordered], np.arange(int(owners.max()) + 1))
    by_example = np.add.reduceat(kernel[np.ix_(ordered, ordered)], starts, axis=0)
    alike: Floats = np.add.reduceat(by_example, starts, axis=1)
    lengths = np.sqrt(np.diagonal(alike))
    alike /= np.outer(lengths, lengths)
    np.fill_diagonal(alike, 0)
    if len(alike) > _NEAREST:
        least = np.partition(alike, -_NEAREST, axis=1)[:, -_NEAREST]
        alike[alike < least[:, None]] = 0
    return alike


def _newest(sequence: Ids) -> Ids:
    ends = np.flatnonzero(sequence == END)
    return sequence[ends[-NEWEST - 1] + 1 :] if len(ends) > NEWEST else sequence


def _of_sequence(sequence: Ids, size: int, first: int) -> _Features:
    """Return the features of queries that follow each other, each ended by END; they are numbered from `first`."""
    is_end = sequence == END
    example = np.cumsum(is_end) - is_end + first
    numbers = sequence.astype(np.int64)
    words = np.flatnonzero(~is_end)
    # in pairs the start and the end of a query have the number after those of all words
    bounded = np.concatenate(([size], np.where(is_end, size, numbers)))
    pairs = np.flatnonzero((bounded[:-1] != size) | ~is_end)
    keys = np.concatenate((numbers[words], (size + 1) * (1 + bounded[pairs]) + bounded[pairs + 1]))
    span = (size + 1) * (size + 2)
    codes = np.concatenate((example[words], example[pairs])) * span + keys
    codes.sort()  # faster than np.unique
    codes = codes[np.diff(codes, prepend=-1) != 0]
    return _Features(codes // span, codes % span, np.ones(len(codes), np.float32))


def _of_texts(entries: Sequence[Entry], first: int) -> _Features:
    """Return the words of texts as features; the texts are numbered from `first`."""
    examples = np.repeat(np.arange(len(entries)), [len(entry.ids) for entry in entries]) + first
    keys = np.concatenate([entry.ids for entry in entries]).astype(np.int64)
    counts = np.concatenate([entry.counts for entry in entries])
    return _Features(examples, keys, 1 + np.log(np.maximum(counts, 1)))


def _rows(parts: Sequence[_Features], examples: int, size: int) -> Floats:
    """Return a row of weights for each example and a last one for the query.

    Words and pairs together have the length 1 and count the same. What only one example has gets no column: it is in no
    product of two rows.
    """
    example, key, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    keys, column = np.unique(key, return_inverse=True)
    of_query = example == examples
    having = np.bincount(column[~of_query], minlength=len(keys))
    asked = np.bincount(column[of_query], minlength=len(keys))
    rare = np.where(having > 0, np.log((1 + examples) / (1 + having)) + 1, 0)
    value = value * rare[column]
    kind = 2 * example + (key >= size)
    norms = np.sqrt(2 * np.bincount(kind, value * value, 2 * examples + 2)) + 1e-9
    shared = having + asked > 1
    kept = shared[column]
    rows = np.zeros((examples + 1, int(shared.sum())), np.float32)
    rows[example[kept], (np.cumsum(shared) - 1)[column[kept]]] = (value / norms[kind])[kept]
    return rows
