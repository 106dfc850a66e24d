"""Estimates from above how many tokens a text has, by its characters.

The weights are upper bounds of what byte-level and SentencePiece vocabularies of 32,000 to 200,000
tokens take for prose, code and data in each script. Where those differ much (digits, emoji, scripts that
only the larger ones know) the smallest vocabulary decides; a script without a weight of its own is
counted byte by byte. Only random letters between spaces can take more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b

_SCRIPTS: tuple[tuple[str, str, float], ...] = (
    # Name, characters, and the most tokens of one character.
    ("latin", "\u00a0-\u024f\u1e00-\u1eff\u2010-\u203f\u20ac", 1.45),
    ("greek", "\u0370-\u03ff", 1.3),
    ("cyrillic", "\u0400-\u04ff", 1.15),
    ("armenian", "\u0530-\u058f", 1.4),
    ("hebrew", "\u0590-\u05ff", 1.35),
    ("arabic", "\u0600-\u06ff", 1.35),
    ("devanagari", "\u0900-\u097f", 1.5),
    ("bengali", "\u0980-\u09ff", 1.5),
    ("tamil", "\u0b80-\u0bff", 1.5),
    ("telugu", "\u0c00-\u0c7f", 2.0),
    ("kannada", "\u0c80-\u0cff", 1.7),
    ("thai", "\u0e00-\u0e7f", 1.5),
    ("myanmar", "\u1000-\u109f", 1.8),
    ("georgian", "\u10a0-\u10ff", 1.5),
    ("kana", "\u3000-\u30ff\uff00-\uffef", 1.5),
    ("han", "\u4e00-\u9fff", 1.5),
    ("hangul", "\uac00-\ud7af", 1.5),
)
PLAIN = "plain"
"""Name for ASCII text, as the scripts and `rest` have names."""
_KNOWN = "".join(characters for _, characters, _ in _SCRIPTS)
_RUNS = re.compile(
    r"(?P<long>[A-Za-z0-9]{20,})|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<single> (?=[0-9]))|(?P<spaces> +)"
    r"|(?P<singles>[0-9\x00-\x1f\x7f]+)|(?P<signs>[!-/:-@\[-`{-~]+)|"
    + "|".join(f"(?P<{name}>[{characters}]+)" for name, characters, _ in _SCRIPTS)
    + rf"|(?P<rest>[^\x00-\x7f{_KNOWN}]+)"
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]")
_CLUSTER = re.compile(r"[bcdfghjklmnpqrstvwxz]{3,}")
_EACH = {"single": 1.0, "singles": 1.0, "signs": 0.75}
"""Tokens of one character."""
_WEIGHTS = {name: weight for name, _, weight in _SCRIPTS}
_DENSE = 0.76
"""Tokens of a letter in base64, hashes and keys."""
_CAPITAL = 0.7


def tokens_in(text: str) -> int:
    """Return an upper estimate of the tokens of a text."""
    return int(sum(by_script(text).values())) + bool(text)


def by_script(text: str) -> Mapping[str, float]:
    """Return the tokens of a text by script; see `tokens_in`."""
    key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    parts = _counts.pop(key, None)
    _counts[key] = parts = counted(text) if parts is None else parts  # moved to the end: the oldest go first
    if len(_counts) > _COUNTED:
        _counts.pop(next(iter(_counts)), None)
    return parts


_counts: dict[bytes, Mapping[str, float]] = {}
"""Text, by its digest so that none of them stays in memory, -> its tokens. The same turns are counted at every step."""
_COUNTED = 1024


def counted(text: str) -> Mapping[str, float]:
    """Like `by_script`, without caching, for texts that come only once."""
    weights: dict[str, float] = {}
    for match in _RUNS.finditer(text):
        kind, run = match.lastgroup or "", match.group()
        if kind in _WEIGHTS:
            weights[kind] = weights.get(kind, 0.0) + _WEIGHTS[kind] * len(run)
        elif kind == "rest":  # byte by byte, as for characters that a vocabulary lacks
            weights[kind] = weights.get(kind, 0.0) + len(run.encode("utf-8", "surrogatepass"))
        else:
            weights[PLAIN] = weights.get(PLAIN, 0.0) + _run(kind, run)
    return weights


def _run(kind: str, run: str) -> float:
    match kind:
        case "word":
            return _word(run)
        case "capitals":
            return _capitals(run)
        case "spaces":  # one space joins the following word, but not a number
            return 1 + len(run) // 16 if len(run) > 1 else 0
        case "long":
            return _long(run)
        case _:
            return _EACH[kind] * len(run)


def _word(word: str) -> float:
    """Vocabularies hold common groups of three or four letters, but few clusters of consonants."""
    hard = sum(len(cluster.group()) - 2 for cluster in _CLUSTER.finditer(word))
    return (1 if len(word) <= 4 else (len(word) + 2) / 3.5) + 0.8 * hard


def _capitals(run: str) -> float:
    return max(1.0, _CAPITAL * len(run))


def _long(run: str) -> float:
    """Count a long run: a compound name by its words; one with digits or ever-changing case as a hash or key."""
    parts: list[str] = _PARTS.findall(run)
    digits = sum(part.isdigit() for part in parts)
    if digits or len(run) < 3 * len(parts):
        return digits + _DENSE * (len(run) - digits)
    return sum(_word(part) if part[-1].islower() else _capitals(part) for part in parts)
