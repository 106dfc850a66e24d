"""The inverted index behind the ranker: returns which texts share words with a query, and how much."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from alita_tui.spine.ranking.common_words import COMMON, FILLER
from alita_tui.spine.ranking.contrast import Comparison, compare
from alita_tui.spine.ranking.likeness import Floats, Ids, Likeness
from alita_tui.spine.ranking.segment import END, Entry, Segment, gathered, packed
from alita_tui.spine.ranking.terms import Term, stem

_SATURATION = 1.2
"""BM25's k1: how fast repetitions of a word stop counting."""
_LENGTH = 0.75
"""BM25's b: how far long texts are marked down."""
_ALIKE = 0.5
"""Likeness from which two words count as forms of one."""
_LEAST_ALIKE = 0.2
_BACKGROUND = 20
"""Texts that are assumed beside the indexed ones: else every word of a small library would be a common one."""
_COMMON = 10.0
"""How strongly a word is marked down for being common in requests."""
_FLOOR = 0.3
"""Added to that factor, so that common words keep some weight: people ask for the same thing in the same phrases."""
_KNOWN = 1.0
"""Served queries per text at which being common in requests counts half: the index then shows by itself which are."""
_POWER = 0.75
"""Exponent of a word's count in the cosine."""
_FILLER = frozenset(map(stem, FILLER))
_SMALL = 64
"""Most changed texts in the small segment."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a text matches a query. Each value is from 0 (not at all) to 1."""

    key: str
    share: float
    """The share of the query's words that the text has, by their weights."""
    cover: float
    """The same, with each word counted by how often the text has it (BM25)."""
    pairs: float
    """How many of the query's pairs of neighbouring words occur in queries that the text has served, by rarity."""
    likeness: float
    """Cosine of query and text, where words that share character n-grams are partly the same."""
    served: int
    words: tuple[str, ...]
    """The query's words that the text has, highest weight first."""


class Index:
    """Texts by key: most of them in a main segment, recently changed ones in a small second one."""

    def __init__(self) -> None:
        self.stems: list[str] = []
        self._numbers: dict[str, int] = {}
        """The numbers of the stems."""
        self._likeness = Likeness(self.stems, least=_LEAST_ALIKE)
        self._words: dict[str, int] = {}
        """The numbers of words as written."""
        self._stem_of: list[int] = []
        """The number of each word's stem."""
        self._stems = np.array([END], np.int32)
        """The same as an array, with an END for END."""
        self._common = np.empty(0, np.float32)
        self._having = np.empty(0, np.int32)
        """Number of texts with each word."""
        self._length = 0.0
        self._served = 0
        self._main = Segment(packed([]))
        self._main_keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._late: dict[str, Entry] = {}
        self._late_keys: list[str] = []
        self._late_segment: Segment | None = None

    def __len__(self) -> int:
        return len(self._rows) + len(self._late)

    @classmethod
    def from_arrays(
        cls, stems: list[str], words: list[str], keys: list[str], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Index:
        """Return the index that `to_arrays` described."""
        self = cls()
        self.stems += stems
        self._numbers = {stem: number for number, stem in enumerate(stems)}
        self._words = {word: number for number, word in enumerate(words)}
        self._stem_of = arrays["stem_of"].tolist()
        self._stems = np.append(arrays["stem_of"], np.int32(END))
        self._main = Segment(arrays)
        self._main_keys = keys
        self._rows = {key: row for row, key in enumerate(keys)}
        self._having = np.bincount(self._main.ids, minlength=len(stems)).astype(np.int32)
        self._length = float(self._main.lengths.sum())
        self._served = int(self._main.served.sum())
        return self

    def to_arrays(self) -> tuple[list[str], list[str], list[str], dict[str, npt.NDArray[Any]]]:
        """Return the index as its stems, its words, its keys by row, and its arrays."""
        if self._late or len(self._rows) < len(self._main):
            self._merge()
        arrays = {**self._main.arrays, "stem_of": np.array(self._stem_of, np.int32)}
        return self.stems, [*self._words], self._main_keys, arrays

    def entry(
        self, fields: Sequence[tuple[list[Term], float]], served: Sequence[tuple[list[Term], float]]
    ) -> Entry:
        """Return the entry of a text with these fields and served queries, each with its weight."""
        counts: dict[int, float] = {}
        for terms, weight in (*fields, *served):
            for term in terms:
                number = self._number(term.form)
                counts[number] = counts.get(number, 0.0) + weight
        own = [self._word(term) for terms, _ in fields for term in terms]
        sequence = [number for terms, _ in served for number in (*map(self._word, terms), END)]
        ids = sorted(counts)
        return Entry(
            np.array(ids, np.int32),
            np.array([counts[number] for number in ids], np.float32),
            np.array(own, np.int32),
            np.array(sequence, np.int32),
            len(served),
        )

    def put(self, key: str, entry: Entry) -> None:
        """Add a text, or replace the one with this key."""
        self.remove(key)
        self._late[key] = entry
        self._late_segment = None
        self._count(entry, 1)

    def remove(self, key: str) -> None:
        """Remove a text, if it is there."""
        if key in self._late:
            self._count(self._late.pop(key), -1)
            self._late_segment = None
        elif key in self._rows:
            row = self._rows.pop(key)
            self._main.current[row] = False
            self._count(self._main.entry(row), -1)

    def rank(self, query: Sequence[Term], limit: int) -> list[Match]:
        """Return the texts that share a word with a query, unordered; at most `limit`, those that share the most."""
        asked = {term.form: term for term in query}
        if not asked or not len(self):
            return []
        self._settle()
        forms = self._forms(asked.values())
        # a number that no text has is the request's data
        asked = {form: term for form, term in asked.items() if not term.numbered or len(forms[form][0])}
        if not asked:
            return []
        having = np.array(
            [self._having[self._numbers[form]] if form in self._numbers else 0 for form in asked]
        )
        common = np.array([_common(form) for form in asked])
        weights = self._informative(having, common)
        have = [self._shares(segment, [forms[form] for form in asked]) for segment in self._segments]
        shares = np.concatenate(have, axis=1)
        scores = weights @ shares
        rows = np.flatnonzero(scores > 0).astype(np.int32)
        if len(rows) > limit:
            rows = rows[np.argpartition(-scores[rows], limit)[:limit]]
        if not len(rows):
            return []
        whole = float(weights.sum())
        pairs = self._pairs([self._numbers.get(term.form, END) for term in query], rows)
        likeness = self._resembling([forms[form] for form in asked], self._rare(having, common), rows)
        heavy = np.argsort(-weights, kind="stable")
        words = [term.word for term in asked.values()]
        words = [words[at] for at in heavy.tolist()]
        present = shares[:, rows] > 0
        share = (weights @ present) / whole
        has = present[heavy].T.tolist()
        served = np.concatenate([segment.served for segment in self._segments])
        matches = []
        for at, row in enumerate(rows.tolist()):
            matches.append(
                Match(
                    key=self._key(row),
                    share=float(share[at]),
                    cover=float(scores[row]) / whole,
                    pairs=float(pairs[at]) / whole,
                    likeness=float(likeness[at]),
                    served=int(served[row]),
                    words=tuple(compress(words, has[at])),
                )
            )
        return matches

    def compare(self, query: Sequence[Term], keys: Sequence[str]) -> Comparison:
        """Return how these texts compare by the queries that they have served."""
        new = dict.fromkeys(term for term in query if term.word not in self._words)
        numbers = ChainMap({term.word: len(self._words) + at for at, term in enumerate(new)}, self._words)
        new_stems = [self._numbers.get(term.form, len(self.stems)) for term in new]
        having = self._having[: len(self.stems)]
        weights = np.where(having > 0, np.log((1 + len(self)) / (1 + having)) + 1, 0)
        return compare(
            [self._entry(key) for key in keys],
            np.array([numbers[term.word] for term in query], np.int32),
            np.concatenate((self._stems[:-1], np.array(new_stems, np.int32))),
            np.append(weights, 0).astype(np.float32),
        )

    def unmatched(self, key: str) -> Match:
        """Return the match of a text that shares no word with the query."""
        late = self._late.get(key)
        served = late.served if late else int(self._main.served[self._rows[key]])
        return Match(key=key, share=0.0, cover=0.0, pairs=0.0, likeness=0.0, served=served, words=())

    @property
    def _segments(self) -> list[Segment]:
        return [self._main, self._late_segment] if self._late_segment else [self._main]

    def _entry(self, key: str) -> Entry:
        return self._late[key] if key in self._late else self._main.entry(self._rows[key])

    def _key(self, row: int) -> str:
        return self._main_keys[row] if row < len(self._main) else self._late_keys[row - len(self._main)]

    def _number(self, form: str) -> int:
        if form not in self._numbers:
            self._numbers[form] = len(self.stems)
            self.stems.append(form)
        return self._numbers[form]

    def _word(self, term: Term) -> int:
        if term.word not in self._words:
            self._words[term.word] = len(self._words)
            self._stem_of.append(self._numbers[term.form])
        return self._words[term.word]

    def _count(self, entry: Entry, by: int) -> None:
        if len(self._having) < len(self.stems):
            grown = np.zeros(max(1024, 2 * len(self.stems)), np.int32)
            grown[: len(self._having)] = self._having
            self._having = grown
        self._having[entry.ids] += by
        self._length += by * float(entry.counts.sum())
        self._served += by * entry.served

    def _settle(self) -> None:
        """Bring the segments up to date."""
        if self._late and self._late_segment is None:
            if len(self._late) > max(_SMALL, len(self._rows) // 16):
                self._merge()
            else:
                self._late_keys = [*self._late]
                self._late_segment = Segment(packed([*self._late.values()]))
        if len(self._stems) <= len(self._stem_of):
            more_words = np.array([*self._stem_of[len(self._stems) - 1 :], END], np.int32)
            self._stems = np.concatenate((self._stems[:-1], more_words))
        if len(self._common) < len(self.stems):
            more = [_common(form) for form in self.stems[len(self._common) :]]
            self._common = np.concatenate((self._common, np.array(more, np.float32)))

    def _merge(self) -> None:
        rows = [(key, row) for key, row in self._rows.items()]
        entries = [self._main.entry(row) for _, row in rows] + [*self._late.values()]
        self._main_keys = [key for key, _ in rows] + [*self._late]
        self._main = Segment(packed(entries))
        self._rows = {key: row for row, key in enumerate(self._main_keys)}
        self._late, self._late_segment = {}, None

    def _forms(self, terms: Collection[Term]) -> dict[str, tuple[Ids, Floats]]:
        """Return for each word the numbers of indexed words that equal or resemble it, with their likeness."""
        plain = [term.form for term in terms if not term.numbered]
        forms = dict(zip(plain, self._likeness.alike(plain), strict=True))
        for term in terms:
            if term.numbered:
                number = self._numbers.get(term.form)
                known = number is not None and self._having[number] > 0
                forms[term.form] = (
                    np.array([number] if known else [], np.int32),
                    np.ones(int(known), np.float32),
                )
        return forms

    def _informative(self, having: npt.NDArray[Any], common: npt.NDArray[Any]) -> Floats:
        """Return the weights of words: the fewer texts and requests have a word, the higher."""
        others = len(self) + _BACKGROUND
        rare = np.log(1 + (others - having + 0.5) / (having + 0.5))
        weights: Floats = (rare * self._uncommon(common)).astype(np.float32)
        return weights

    def _uncommon(self, common: npt.NDArray[Any]) -> Floats:
        """Return factors that mark words down for being common in requests; near 1 where many queries were served."""
        known = _KNOWN / (_KNOWN + self._served / max(len(self), 1))
        left: Floats = ((_FLOOR + 1 / (1 + _COMMON * known * common)) / (1 + _FLOOR)).astype(np.float32)
        return left

    def _shares(self, segment: Segment, forms: Sequence[tuple[Ids, Floats]]) -> Floats:
        """Return for each word of the query and each row how well the row matches the word, from 0 to 1."""
        shares = np.zeros((len(forms), len(segment)), np.float32)
        average = max(self._length / len(self), 1e-6)
        room = _SATURATION * (1 - _LENGTH + _LENGTH * segment.lengths / average)
        for best, (ids, alike) in zip(shares, forms, strict=True):
            for number, likeness in zip(ids.tolist(), alike.tolist(), strict=True):
                if likeness >= _ALIKE:
                    rows, counts = segment.having(number)
                    best[rows] = np.maximum(best[rows], likeness * counts / (counts + room[rows]))
        shares[:, ~segment.current] = 0
        return shares

    def _resembling(self, forms: Sequence[tuple[Ids, Floats]], weights: Floats, rows: Ids) -> Floats:
        """Return the cosine of the query and rows, where words that resemble each other are partly the same."""
        like = np.zeros(len(self.stems), np.float32)
        for (ids, alike), weight in zip(forms, weights.tolist(), strict=True):
            like[ids] += weight * alike
        cosines = np.zeros(len(rows), np.float32)
        first = 0
        for segment in self._segments:
            mine = np.flatnonzero((rows >= first) & (rows < first + len(segment)))
            places, of_row = gathered(segment.starts, rows[mine] - first)
            ids = segment.ids[places]
            counts = segment.counts[places] ** _POWER * self._rare(self._having[ids], self._common[ids])
            dot = np.bincount(of_row, counts * like[ids], len(mine))
            cosines[mine] = dot / (np.sqrt(np.bincount(of_row, counts * counts, len(mine))) + 1e-9)
            first += len(segment)
        norm = float(np.sqrt((weights * weights).sum())) or 1.0
        return cosines / norm

    def _rare(self, having: npt.NDArray[Any], common: npt.NDArray[Any]) -> Floats:
        """Return the weights of words for the cosine, none of them zero."""
        rare: Floats = ((np.log((1 + len(self)) / (1 + having)) + 1) * self._uncommon(common)).astype(
            np.float32
        )
        return rare

    def _pairs(self, query: Sequence[int], rows: Ids) -> Floats:
        """Return for each row how many of the query's pairs of words are in its served queries, weighted by rarity."""
        size = len(self.stems)
        wanted = sorted(
            {a * size + b for a, b in zip(query, query[1:], strict=False) if a != END and b != END}
        )
        pairs = np.zeros(len(rows), np.float32)
        if not wanted:
            return pairs
        keys = np.array(wanted, np.int64)
        begins = np.zeros(size + 1, np.bool_)  # the last is for END
        begins[keys // size] = True
        counts = np.zeros((len(rows), len(keys)), np.float32)
        lengths = np.zeros(len(rows), np.float32)
        first = 0
        for segment in self._segments:
            mine = np.flatnonzero((rows >= first) & (rows < first + len(segment)))
            lengths[mine] = segment.lengths[rows[mine] - first]
            places, of_row = gathered(segment.sequence_starts, rows[mine] - first)
            sequence = self._stems[segment.sequence[places]]
            at = (
                np.flatnonzero(begins[sequence[:-1]] & (sequence[1:] != END))
                if len(sequence) > 1
                else np.empty(0, np.int64)
            )
            pair = sequence[at].astype(np.int64) * size + sequence[at + 1]
            which = np.minimum(np.searchsorted(keys, pair), len(keys) - 1)
            same = keys[which] == pair
            np.add.at(counts, (mine[of_row[at[same]]], which[same]), 1)
            first += len(segment)
        having = (counts > 0).sum(0)
        rare = np.log(1 + (len(self) + _BACKGROUND - having + 0.5) / (having + 0.5))
        room = _SATURATION * (1 - _LENGTH + _LENGTH * lengths * len(self) / max(self._length, 1e-6))
        shares: Floats = (counts / (counts + room[:, None])) @ rare.astype(np.float32)
        return shares


def _common(form: str) -> float:
    return 1.0 if form in _FILLER or (len(form) == 1 and form.isascii()) else COMMON.get(form, 0.0)
