"""Finds the words of a vocabulary that resemble a word, by their character 3- to 5-grams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Hashes = npt.NDArray[np.uint32]

_LONGEST = 30
_SIZES = (3, 4, 5)
_FACTOR = np.uint32(2654435761)
_SMALL = 1000
"""Most new words of a vocabulary before its grams are sorted again."""
_REMEMBERED = 4096


class _Grams:
    """Weights of grams: the fewer words have a gram, the higher."""

    def __init__(self, hashes: Hashes, words: int) -> None:
        ordered = np.sort(hashes)
        first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        self._hashes = ordered[first] if len(ordered) else ordered
        self._having = np.diff(np.append(first, len(ordered)))
        self._words = words

    def weights(self, hashes: Hashes) -> Floats:
        if not len(self._hashes):
            return np.ones(len(hashes), np.float32)
        at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        having = np.where(self._hashes[at] == hashes, self._having[at], 0)
        return np.log(1 + self._words / (having + 0.5)).astype(np.float32)


class _Part:
    """The grams of some words of the vocabulary, sorted."""

    def __init__(self, words: Sequence[str], first: int, grams: _Grams | None = None) -> None:
        of_word, hashes = _split(words)
        self.grams = grams or _Grams(hashes, len(words))
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._of_word = of_word[order]
        self._weights = self.grams.weights(self._hashes) ** 2
        self._norms = np.sqrt(np.bincount(self._of_word, self._weights, len(words))) + 1e-9
        self.first = first
        self.end = first + len(words)

    def alike(self, hashes: Hashes, least: float) -> tuple[Ids, Floats]:
        starts = np.searchsorted(self._hashes, hashes, "left").tolist()
        ends = np.searchsorted(self._hashes, hashes, "right").tolist()
        spans = [slice(a, b) for a, b in zip(starts, ends, strict=True) if b > a]
        if not spans:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        words = np.concatenate([self._of_word[span] for span in spans])
        weights = np.concatenate([self._weights[span] for span in spans])
        shared = np.bincount(words, weights, self.end - self.first)
        which = np.flatnonzero(shared)
        norm = float(np.sqrt((self.grams.weights(hashes) ** 2).sum()))
        cosine = (shared[which] / (self._norms[which] * norm)).astype(np.float32)
        close = cosine >= least
        return (which[close] + self.first).astype(np.int32), cosine[close]


class Likeness:
    """A growing vocabulary, searchable by the grams of its words."""

    def __init__(self, words: list[str], *, least: float) -> None:
        """`words` is the vocabulary itself; it may only grow. Words less alike than `least` are not returned."""
        self._words = words
        self._least = least
        self._parts: list[_Part] = []
        self._seen = 0
        self._known: dict[str, tuple[Ids, Floats]] = {}

    def alike(self, words: Sequence[str]) -> list[tuple[Ids, Floats]]:
        """Return for each of these words the numbers of words that resemble it, and their likeness, from 0 to 1."""
        self._grow()
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        new = list(dict.fromkeys(word for word in words if word not in self._known))
        places, hashes = _split(new)
        ends = np.searchsorted(places, np.arange(len(new) + 1))
        for at, word in enumerate(new):
            parts = [part.alike(hashes[ends[at] : ends[at + 1]], self._least) for part in self._parts]
            ids = [np.empty(0, np.int32), *(like_ids for like_ids, _ in parts)]
            alike = [np.empty(0, np.float32), *(likeness for _, likeness in parts)]
            self._known[word] = (np.concatenate(ids), np.concatenate(alike))
        return [self._known[word] for word in words]

    def _grow(self) -> None:
        if self._seen == len(self._words):
            return
        first = self._parts[0].end if self._parts else 0
        if not self._parts or len(self._words) - first > max(_SMALL, first // 4):
            self._parts = [_Part(self._words, 0)]
        else:
            self._parts = [self._parts[0], _Part(self._words[first:], first, self._parts[0].grams)]
        self._seen = len(self._words)
        self._known.clear()


def _split(words: Sequence[str]) -> tuple[Ids, Hashes]:
    """Return for each different gram of each word the word's place, and the gram as a hash."""
    if not words:
        return np.empty(0, np.int32), np.empty(0, np.uint32)
    padded = [f"^{word[:_LONGEST]}$" for word in words]
    codes = np.array(padded, dtype=f"<U{max(map(len, padded))}").view(np.uint32).reshape(len(padded), -1)
    places: list[Ids] = []
    hashes: list[Hashes] = []
    for size in _SIZES:
        count = codes.shape[1] - size + 1
        if count <= 0:
            continue
        hashed = np.full((len(padded), count), size, np.uint32)
        for at in range(size):
            hashed = (hashed ^ codes[:, at : at + count]) * _FACTOR
            hashed ^= hashed >> np.uint32(15)
        rows, columns = np.nonzero(codes[:, size - 1 :])
        places.append(rows.astype(np.int32))
        hashes.append(hashed[rows, columns])
    pairs = (np.concatenate(places).astype(np.uint64) << np.uint64(32)) | np.concatenate(hashes)
    pairs.sort()  # several times faster than np.unique
    pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
    return (pairs >> np.uint64(32)).astype(np.int32), pairs.astype(np.uint32)
