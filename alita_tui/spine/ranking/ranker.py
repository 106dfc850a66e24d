"""Ranks texts by a query: the one scorer behind tool search, recall and the choice of passages.

Three signals are added up: the words that a text shares with the query (BM25, by stems and words that resemble
each other by their character n-grams), pairs of neighbouring words that it shares with queries which the text
has served, and the cosine of the whole by character n-grams (Robertson and Zaragoza, "The Probabilistic
Relevance Framework", 2009). Words that requests of every kind share count little. Where there is an encoder, a fourth
is how far above others' the cosine of a text's vector is. On request the best few are then told apart by the
queries that they have served (`contrast.py`).

`tests/benchmarks/fit_ranking.py` fits the constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from alita_tui.events import Value
from alita_tui.spine.ranking.common_words import FILLER
from alita_tui.spine.ranking.terms import Term, terms

if TYPE_CHECKING:
    from alita_tui.spine.ranking.index import Index, Match

_PAIRS = 0.3
_LIKENESS = 0.8
_CLOSE = 0.1
"""What one standard deviation of the cosine counts."""
_SPREAD, _HELD = 0.08, 5
"""The prior standard deviation of a query's cosines, and the number of texts that the prior counts as."""
_CONTRAST, _CONTRASTED, _TAUGHT = 1.2, 12, 8
"""What the contrast counts at most, which of the first texts it is for, and how many queries such a text has to have
served: of fewer it says more about who was asked often than about the query."""
_SUPPORT = 0.8
"""What the scores of texts that resemble a text count at most for its place after the first."""
_CLOSEST = 50
"""Maximum number of texts that share no word with the query and are ranked by their vectors alone."""


class Served(Value, frozen=True):
    """A query that a text was the right answer to."""

    query: str
    weight: float = 1.0
    """From 0 to 1: how good the outcome was, and how recent."""


class Ranked(Value, frozen=True):
    """A text with its score for a query."""

    key: str
    score: float
    """What texts are ranked by; from 0, comparable between queries."""
    share: float = 0.0
    """0 to 1: the share of the query's words, by their weights, that the text has."""
    cover: float = 0.0
    """0 to 1: the same, with each word counted by how often the text has it (BM25)."""
    pairs: float = 0.0
    """How many of the query's pairs of neighbouring words occur in queries that the text has served, by rarity."""
    likeness: float = 0.0
    """0 to 1: the cosine by character n-grams."""
    close: float = 0.0
    """How far above others' the cosine of its vector is, in standard deviations; 0 without an encoder."""
    contrast: float = 0.0
    """How much more the queries it has served resemble the query than those of the other best texts; 0 on average, and
    for a text that was not compared."""
    margin: float = 0.0
    """How far its score is above the best of the others; below 0 for all but the first."""
    served: int = 0
    """Number of queries that the text has served."""
    asked: int = 0
    """Number of different words of the query that carry meaning."""
    words: tuple[str, ...] = ()
    """The query's words that matched, as they were written, highest weight first."""


class _Text(NamedTuple):
    """A text to index."""

    fields: tuple[tuple[str, float], ...]
    served: tuple[Served, ...]

    @property
    def mark(self) -> str:
        """Digest of the text, to see whether it has changed."""
        try:
            raw = msgspec.json.encode((self.fields, self.served))
        except UnicodeEncodeError:  # a lone surrogate
            raw = repr((self.fields, self.served)).encode()
        return blake2b(raw, digest_size=12).hexdigest()


class Ranker:
    """An index of texts, changed one text at a time. Not thread-safe."""

    def __init__(self, load: Callable[[], bytes] = bytes) -> None:
        """`load` returns the bytes that `saved` returned earlier, or none; it is called at the first use."""
        self._load = load
        self._pending: dict[str, _Text | None] = {}
        """Texts that are not indexed yet; None for one to remove."""
        self._index: Index | None = None
        self._marks: dict[str, str] = {}
        self._keys: set[str] = set()
        self.changed = 0
        """Texts that were indexed or removed since it was loaded or saved."""

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, key: str, fields: Iterable[tuple[str, float]], served: Iterable[Served] = ()) -> None:
        """Add or replace a text, given as `(text, weight)` parts and the queries it has served."""
        self._keys.add(key)
        self._pending[key] = _Text(tuple(fields), tuple(served))

    def remove(self, key: str) -> None:
        """Remove a text, if it is there."""
        if key in self._keys:
            self._keys.remove(key)
            self._pending[key] = None

    def saved(self) -> bytes:
        """Return the whole index as bytes."""
        from alita_tui.spine.ranking.serialization import packed

        index = self.settle()
        self.changed = 0
        return packed(index, self._marks)

    def rank(
        self,
        query: str,
        *,
        limit: int = 200,
        cosines: Mapping[str, float] | None = None,
        background: Sequence[float] = (),
        contrasted: bool = False,
    ) -> list[Ranked]:
        """Return the texts that share something with the query, best first, at most `limit`.

        `cosines` are the cosines of the query's vector and those of texts that have one. They are compared with the
        cosines in `background`, or without it with each other. With `contrasted` the best texts that
        have served many queries are told apart by these.
        """
        index = self.settle()
        query_terms = terms(query)
        asked = len({term.form for term in query_terms if term.word not in FILLER})
        matches = index.rank(query_terms, limit)
        close = _above_others(
            {key: cosine for key, cosine in (cosines or {}).items() if key in self._keys}, background
        )
        known = {match.key for match in matches}
        near = sorted(
            (key for key in close if close[key] > 0 and key not in known), key=lambda key: -close[key]
        )
        matches += map(index.unmatched, near[:_CLOSEST])
        scores = [
            match.cover
            + _PAIRS * match.pairs
            + _LIKENESS * match.likeness
            + _CLOSE * close.get(match.key, 0.0)
            for match in matches
        ]
        contrasts = self._tell_apart(index, query_terms, matches, scores) if contrasted else {}
        order = _in_order(scores, matches)
        first = scores[order[0]] if order else 0.0
        second = scores[order[1]] if len(order) > 1 else 0.0
        return [
            Ranked(
                key=matches[at].key,
                score=round(scores[at], 4),
                share=matches[at].share,
                cover=matches[at].cover,
                pairs=matches[at].pairs,
                likeness=matches[at].likeness,
                close=close.get(matches[at].key, 0.0),
                contrast=contrasts.get(at, 0.0),
                margin=scores[at] - (second if at == order[0] else first),
                served=matches[at].served,
                asked=asked,
                words=matches[at].words,
            )
            for at in order
        ]

    def _tell_apart(
        self, index: Index, query: list[Term], matches: Sequence[Match], scores: list[float]
    ) -> dict[int, float]:
        """Exchange the scores of the first texts so that what they have served counts, and return their contrasts.

        The contrasts decide which comes first; the others come in the order of what they and those like them score.
        Only texts with a long history change places, and only with each other: else a text would lose for being new.
        The shorter the shortest history is, the less this counts.
        """
        from alita_tui.spine.ranking.contrast import NEWEST

        taught = [at for at in _in_order(scores, matches)[:_CONTRASTED] if matches[at].served >= _TAUGHT]
        if len(taught) < 2:
            return {}
        known = min(1.0, min(matches[at].served for at in taught) / NEWEST)
        before = [scores[at] for at in taught]
        compared = index.compare(query, [matches[at].key for at in taught])
        contrasts = (known * compared.contrasts).tolist()
        own = [score + _CONTRAST * contrast for score, contrast in zip(before, contrasts, strict=True)]
        support = (known * _SUPPORT * compared.alike @ before).tolist()
        first = own.index(max(own))
        order = sorted(range(len(taught)), key=lambda place: (place != first, -own[place] - support[place]))
        for place, score in zip(order, before, strict=True):
            scores[taught[place]] = score
        return dict(zip(taught, contrasts, strict=True))

    def settle(self) -> Index:
        """Return the index with all changes in it. It is imported here: numpy takes a while."""
        if self._index is None:
            from alita_tui.spine.ranking.index import Index
            from alita_tui.spine.ranking.serialization import unpacked

            loaded = unpacked(self._load())
            self._index, self._marks = loaded if loaded is not None else (Index(), {})
            for gone in self._marks.keys() - self._keys:
                self._pending[gone] = None
        for key in [*self._pending]:
            self._apply(self._index, key, self._pending.pop(key))
        return self._index

    def _apply(self, index: Index, key: str, text: _Text | None) -> None:
        if text is None:
            index.remove(key)
            self._marks.pop(key, None)
        else:
            mark = text.mark
            if self._marks.get(key) == mark:
                return
            entry = index.entry(
                [(terms(part), weight) for part, weight in text.fields],
                [(terms(need.query), need.weight) for need in text.served],
            )
            index.put(key, entry)
            self._marks[key] = mark
        self.changed += 1


def _in_order(scores: Sequence[float], matches: Sequence[Match]) -> list[int]:
    """Return the places of matches, the highest score first."""
    return sorted(range(len(matches)), key=lambda at: (-scores[at], matches[at].key))


def _above_others(cosines: Mapping[str, float], background: Sequence[float] = ()) -> dict[str, float]:
    """Return how many standard deviations each cosine is above the mean.

    With few cosines the standard deviation stays near its prior.
    """
    if not cosines:
        return {}
    others = background or [*cosines.values()]
    mean = fmean(others)
    squares = sum((cosine - mean) ** 2 for cosine in others) + _HELD * _SPREAD**2
    deviation = (squares / (len(others) + _HELD)) ** 0.5
    return {key: (cosine - mean) / deviation for key, cosine in cosines.items()}
