"""The words of a text, as the ranker compares them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import Stemmer

from alita_tui.spine.ranking.common_words import FILLER

_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|`[^`\n]{0,400}`|(?<!\w)'[^'\n]{0,400}'(?!\w)|“[^”\n]{0,400}”")
_PIECE = re.compile(r"\S+")
_PLACE = re.compile(r"[@\\]|://")
"""Marks an address or a path anywhere in a piece."""
_PATH = re.compile(r"(?<!\w)/")
"""Begins a path."""
_MARKED = re.compile(r"[@\\/]")
"""Stands in every address and path."""
_DIGIT = re.compile(r"\d")
_HYPHEN = re.compile(r"\b([^\W\d_])-(?=[^\W\d_])")
"""As in `e-mail`."""
_NUMBERED = re.compile(r"\b([A-Z]{2,4})[ -](\d{1,4})\b|\b([^\W\d_]{2,5})-(\d{1,4})\b")
"""As in `SHA-256`, `ISO 8601` and `utf-8`: one word."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SNOWBALL = Stemmer.Stemmer("english")
_BRITISH = re.compile(r"is(?=(?:e[drs]?|ers|ing|ations?)$)")
"""As in `organise`; the stemmer knows `organize` only."""
_WORD = re.compile(r"[^\W_]+")
_MIXED = re.compile(r"([^\W\d_]{1,8})\d{1,4}[^\W\d_]{0,4}|\d{1,2}[^\W\d_]{1,6}")
"""A word of letters and digits that is a name (`base64`, `ipv6`, `3d`); any other is data."""
_LONGEST = 40
_MOST = 20_000
"""Characters of a text that are read."""


class Term(NamedTuple):
    """A word of a text."""

    form: str
    """Its stem."""
    word: str
    numbered: bool = False
    """True if it has digits: then nothing resembles it."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word without its endings: `validate`, `validation` and `valid` are one."""
    stemmed: str = _SNOWBALL.stemWord(_BRITISH.sub("iz", word))
    return stemmed.removesuffix("i")  # `summari(es)` and `summar(ize)`


def words(text: str) -> list[tuple[str, str]]:
    """Return `(stem, word)` for each meaningful word, without quoted text and data.

    A text that has nothing else keeps its quoted words.
    """
    bare = _meant(_without_data(_QUOTED.sub(" ", text[:_MOST]), digits=False))
    return bare or _meant(_without_data(text[:_MOST], digits=False))


def terms(text: str) -> list[Term]:
    """Return every word of a text in order, filler included, without quoted text, addresses and numbers.

    A word of letters and digits (`base64`) is followed by its letters (`base`).
    """
    bare = _terms(_without_data(_QUOTED.sub(" ", text[:_MOST]), digits=True))
    meant = any(term.word not in FILLER for term in bare)
    return bare if meant else _terms(_without_data(text[:_MOST], digits=True))


def _without_data(text: str, *, digits: bool) -> str:
    """Return a text without addresses and paths, and unless `digits` without what has digits."""

    if digits and not _MARKED.search(text):
        return text

    def cleaned(match: re.Match[str]) -> str:
        piece = match[0]
        if _PLACE.search(piece) or (not digits and _DIGIT.search(piece)):
            return " "
        path = _PATH.search(piece)
        return piece[: path.start()] if path and path.end() < len(piece) else piece

    return _PIECE.sub(cleaned, text)


def _meant(text: str) -> list[tuple[str, str]]:
    split = _WORD.findall(_plain(_HYPHEN.sub(r"\1", text)))
    return [(stem(word), word) for word in split if word not in FILLER and (len(word) > 1 or word > "\x7f")]


def _terms(text: str) -> list[Term]:
    collected: list[Term] = []
    joined = _NUMBERED.sub(r"\1\2\3\4", _HYPHEN.sub(r"\1", text))
    for word in _WORD.findall(_plain(joined)):
        if word.isalpha():
            if len(word) <= _LONGEST:
                collected.append(Term(stem(word), word))
        elif mixed := _MIXED.fullmatch(word):
            collected.append(Term(word, word, numbered=True))
            if mixed[1] and len(mixed[1]) > 1:
                collected.append(Term(stem(mixed[1]), mixed[1]))
    return collected


def _plain(text: str) -> str:
    split = _CAMEL.sub(" ", text)
    if split.isascii():
        return split.lower()
    plain = unicodedata.normalize("NFKD", split)
    return "".join(char for char in plain if not unicodedata.combining(char)).casefold()
