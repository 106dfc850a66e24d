"""Tells texts that rank close to each other apart by the queries that they have served.

What separates two similar tools is what people asked of one and not of the other. So the decision is fitted for each
query anew, on the served queries of the few best texts alone: kernel ridge regression (Saunders et al., "Ridge
Regression Learning Algorithm in Dual Variables", 1998) on words as they were written, their stems, and pairs of
neighbouring words. The start and the end of a query count as words in pairs: requests for one tool often begin alike.

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
_KINDS = 3
"""Words, stems and pairs of words."""
_NEAREST = 5
"""How many of the others support a text."""


class Comparison(NamedTuple):
    """The best texts for a query, compared by the queries that they have served."""

    contrasts: Floats
    """For each text how much more its queries resemble the query than those of the others do; adds up to 0."""
    alike: Floats
    """Cosine, from 0 to 1, of each text (row) with each of the `_NEAREST` others that resemble it most; otherwise 0."""


def compare(entries: Sequence[Entry], query: Ids, stems: Ids, weights: Floats) -> Comparison:
    """Return how texts compare; all values are 0 if no text has served a query.

    `query` is the numbers of its words, `stems` the number of each word's stem, `weights` what each stem counts.
    """
    if not any(entry.served for entry in entries):
        return Comparison(np.zeros(len(entries), np.float32), np.zeros((len(entries),) * 2, np.float32))
    # what a text says itself is an example as well
    end = [END]
    sequences = [np.concatenate((entry.own, end, _newest(entry.sequence))) for entry in entries]
    counts = [int(np.count_nonzero(sequence == END)) for sequence in sequences]
    owners = np.repeat(np.arange(len(entries)), counts)
    rows = _rows(np.concatenate((*sequences, query, end)), stems.astype(np.int64), weights)
    known, wanted = rows[:-1], rows[-1]
    kernel = known @ known.T
    alike = _nearest(kernel, owners)
    kernel[np.diag_indices(len(owners))] = 1 + _RIDGE
    solution = np.linalg.solve(kernel, known @ wanted)
    resembling = np.bincount(owners, solution, len(entries))
    above: Floats = (resembling - resembling.mean()).astype(np.float32)
    return Comparison(above, alike)


def _nearest(kernel: Floats, owners: Places) -> Floats:
    """Return the cosines of texts with the others that resemble them most, from the products of their examples."""
    starts = np.searchsorted(owners, np.arange(int(owners[-1]) + 1))
    alike: Floats = np.add.reduceat(np.add.reduceat(kernel, starts, axis=0), starts, axis=1)
    lengths = np.sqrt(np.diagonal(alike)) + 1e-9
    alike /= np.outer(lengths, lengths)
    np.fill_diagonal(alike, 0)
    if len(alike) > _NEAREST:
        least = np.partition(alike, -_NEAREST, axis=1)[:, -_NEAREST]
        alike[alike < least[:, None]] = 0
    return alike


def _newest(sequence: Ids) -> Ids:
    ends = np.flatnonzero(sequence == END)
    return sequence[ends[-NEWEST - 1] + 1 :] if len(ends) > NEWEST else sequence


def _rows(sequence: Places, stems: Places, weights: Floats) -> Floats:
    """Return a row of weights for each example; `sequence` is their words in order, each example ended by END.

    Words, stems and pairs of words together have the length 1 and count the same. What only one example has gets no
    column: it is in no product of two rows.
    """
    is_end = sequence == END
    example = np.cumsum(is_end) - is_end
    examples = int(example[-1]) + 1
    words = np.flatnonzero(~is_end)
    numbers = sequence[words]
    boundary = len(stems)  # the number, in pairs, of the start and the end of an example
    bounded = np.concatenate(([boundary], np.where(is_end, boundary, sequence)))
    pairs = np.flatnonzero((bounded[:-1] != boundary) | ~is_end)
    pair_keys = (boundary + 1) * bounded[pairs] + bounded[pairs + 1]
    keys = np.concatenate((numbers, boundary + stems[numbers], 2 * boundary + pair_keys))
    span = 2 * boundary + (boundary + 1) ** 2
    codes = np.concatenate((example[words], example[words], example[pairs])) * span + keys
    codes.sort()  # faster than np.unique
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    times = np.diff(first, append=len(codes))
    of_example, keys = np.divmod(codes[first], span)
    keys, column = np.unique(keys, return_inverse=True)
    having = np.bincount(column)
    kinds = np.searchsorted((boundary, 2 * boundary), keys, "right")
    weight = np.where(having > 1, np.log((1 + examples) / (1 + having)) + 1, 0)  # stays for pairs
    weight[kinds == 0] = weights[stems[keys[kinds == 0]]]
    weight[kinds == 1] = weights[keys[kinds == 1] - boundary]
    value = weight[column] * (1 + np.log(times))
    kind = _KINDS * of_example + kinds[column]
    norms = np.sqrt(_KINDS * np.bincount(kind, value * value, _KINDS * examples)) + 1e-9
    shared = having > 1
    kept = shared[column]
    rows = np.zeros((examples, int(shared.sum())), np.float32)
    rows[of_example[kept], (np.cumsum(shared) - 1)[column[kept]]] = (value / norms[kind])[kept]
    return rows
