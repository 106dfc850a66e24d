"""Ranks short texts by a query: the one scorer behind tool search and recall.

A query's words are weighted by how rare they are (smoothed idf), a text's by how often they occur
(BM25's saturation: Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).
Words are compared by their Snowball stems, and stems that differ by their character 3- to 5-grams (Dice).
The score is the share of the query that a text covers, mixed with the share of the text's title
that the query covers, so it lies between 0 and 1 and means the same for every query.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable

import Stemmer

from alita_tui.events import Value

_STOP = frozenset(
    """a about above after again against all also am an and any anyone are as at be because been before
    being below between both but by can could did do does doing done down during each every few for
    from further get give given had has have having he her here hers him his how i if in into is it
    its itself just kindly let like make many me more most much must my need needed no nor not now of
    off on once only or other our ours out over own please same say see shall she should show so some
    such take tell than thank thanks that the their theirs them then there these they thing this those
    through to too tool under until up use used using very want was way we were what when where whether
    which while who whom why will with without would write yes you your yours
    calculate compute create find help run work function one two three result return value given""".split()
)
"""Words that carry no intent, among them the verbs of nearly every request."""

_QUOTED = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)|“[^”\n]*”")
_DATA = re.compile(r"\S*(?:[@\\]|://|\d)\S*|(?<!\w)/\S+")
"""Addresses, paths and numbers: the data of a request, not what it asks for."""
_HYPHEN = re.compile(r"\b([^\W\d_])-(?=[^\W\d_])")
"""As in `e-mail`."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SNOWBALL = Stemmer.Stemmer("english")
_BRITISH = re.compile(r"is(?=(?:e[drs]?|ers|ing|ations?)$)")
"""As in `organise`; the stemmer knows `organize` only."""
_WORD = re.compile(r"[^\W_]+")
_SATURATION = 0.35
"""BM25's k1: small, for a tool's name says a thing once and means it."""
_LENGTH = 0.3
"""BM25's b: how far long texts are marked down."""
_ALIKE = 0.55
"""Dice coefficient from which two words count as forms of one."""
_TITLE = 0.3
"""Share of a score that the title has, where a text has one."""
_QUERY_WORDS = 10
"""Words of a query that count in full: a text cannot be asked to cover a whole page."""


class Ranked(Value, frozen=True):
    """One text that shares something with the query."""

    key: str
    score: float
    """0 to 1: how much of the query the text covers."""
    words: tuple[str, ...] = ()
    """The query's words that matched, as they were written, the weightiest first."""


def stem(word: str) -> str:
    """Return a word without its endings: `validate`, `validation` and `valid` are one."""
    stemmed: str = _SNOWBALL.stemWord(_BRITISH.sub("iz", word))
    return stemmed.removesuffix("i")  # `summari(es)` and `summar(ize)`


def words(text: str) -> list[tuple[str, str]]:
    """Return `(stem, word)` for each word that carries meaning, without quoted text and data.

    A text that has nothing else keeps its quoted words.
    """
    bare = _split(_DATA.sub(" ", _QUOTED.sub(" ", text)))
    return bare or _split(_DATA.sub(" ", text))


def _split(text: str) -> list[tuple[str, str]]:
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", _HYPHEN.sub(r"\1", text)))
    plain = "".join(char for char in plain if not unicodedata.combining(char)).casefold()
    split = _WORD.findall(plain)
    return [(stem(word), word) for word in split if word not in _STOP and (len(word) > 1 or word > "\x7f")]


class Ranking:
    """An index of short texts, changed one text at a time."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, float]] = {}
        self._titles: dict[str, frozenset[str]] = {}
        self._lengths: dict[str, float] = {}
        self._postings: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._grams: defaultdict[str, set[str]] = defaultdict(set)
        self._total = 0.0

    def __len__(self) -> int:
        return len(self._texts)

    def put(self, key: str, fields: Iterable[tuple[str, float]], *, title: str = "") -> None:
        """Index a text given as `(text, weight)` parts, in place of an earlier one with this key.

        A title has to be among the parts as well; how much of it the query covers adds to the score.
        """
        self.remove(key)
        weights: defaultdict[str, float] = defaultdict(float)
        for text, weight in fields:
            for form, _ in words(text):
                weights[form] += weight
        self._texts[key] = dict(weights)
        self._titles[key] = frozenset(form for form, _ in words(title)) & weights.keys()
        self._lengths[key] = sum(weights.values())
        self._total += self._lengths[key]
        for form, weight in weights.items():
            if form not in self._postings:
                for gram in _grams(form):
                    self._grams[gram].add(form)
            self._postings[form][key] = weight

    def remove(self, key: str) -> None:
        """Remove a text; a missing one is no error."""
        weights = self._texts.pop(key, {})
        self._titles.pop(key, None)
        self._total -= self._lengths.pop(key, 0.0)
        for form in weights:
            del self._postings[form][key]
            if not self._postings[form]:
                del self._postings[form]
                for gram in _grams(form):
                    self._grams[gram].discard(form)
                    if not self._grams[gram]:
                        del self._grams[gram]

    def rank(self, query: str) -> list[Ranked]:
        """Return every text that shares something with the query, best first."""
        asked: dict[str, str] = {}
        for form, word in words(query):
            asked.setdefault(form, word)
        weights = {form: self._idf(form) for form in asked}
        whole = sum(sorted(weights.values(), reverse=True)[:_QUERY_WORDS])
        covered: set[str] = set()
        matched: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        for form, word in asked.items():
            forms = self._forms(form)
            covered.update(alike for alike, _ in forms)
            for key, share in self._matches(forms).items():
                matched[key].append((weights[form] * share, word))
        ranked = [
            Ranked(
                key=key,
                score=self._score(key, min(1.0, sum(weight for weight, _ in pairs) / whole), covered),
                words=tuple(word for _, word in sorted(pairs, reverse=True)),
            )
            for key, pairs in matched.items()
        ]
        return sorted(ranked, key=lambda text: (-text.score, text.key))

    def _score(self, key: str, share: float, covered: set[str]) -> float:
        title = self._titles[key]
        if title:
            own = sum(map(self._idf, title & covered)) / sum(map(self._idf, title))
            share = (1 - _TITLE) * share + _TITLE * own
        return round(share, 4)

    def _idf(self, form: str) -> float:
        """Return the smoothed inverse document frequency, never below 1, so that a lone text can still match."""
        return math.log((1 + len(self._texts)) / (1 + len(self._postings.get(form, ())))) + 1

    def _matches(self, forms: list[tuple[str, float]]) -> dict[str, float]:
        """Return for each text how well it contains one of these stems, from 0 to 1."""
        best: dict[str, float] = {}
        average = self._total / len(self._texts) if self._texts else 1.0
        for form, alike in forms:
            for key, weight in self._postings[form].items():
                length = self._lengths[key] / (average or 1.0)
                share = alike * weight / (weight + _SATURATION * (1 - _LENGTH + _LENGTH * length))
                best[key] = max(best.get(key, 0.0), share)
        return best

    def _forms(self, form: str) -> list[tuple[str, float]]:
        """Return the indexed stems that equal or resemble this one, with their similarity."""
        grams = _grams(form)
        shared = Counter(indexed for gram in grams for indexed in self._grams.get(gram, ()))
        alike = ((indexed, 2 * n / (len(grams) + len(_grams(indexed)))) for indexed, n in shared.items())
        return [(indexed, score) for indexed, score in alike if score >= _ALIKE]


def _grams(form: str) -> set[str]:
    padded = f"^{form}$"
    return {padded[at : at + size] for size in (3, 4, 5) for at in range(len(padded) - size + 1)} or {padded}
