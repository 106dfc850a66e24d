"""How many tokens a text has at most, by the look of it.

The weights are upper bounds of what byte-level and SentencePiece vocabularies of 32,000 to 200,000
tokens take for prose, code and data in many scripts. Where those differ much (digits, emoji) the
smallest vocabulary decides. Only random letters between spaces can take more.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LATIN = "\u00a0-\u024f\u1e00-\u1eff\u2010-\u203f\u20ac"
_NEAR = "\u0370-\u06ff"
"""Greek, Cyrillic, Armenian, Hebrew, Arabic."""
_EAST = "\u0900-\u0eff\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef"
"""Indic scripts, Thai, Lao, kana, common Han characters, Hangul."""
_RUNS = re.compile(
    r"(?P<long>[A-Za-z0-9]{20,})|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<single> (?=[0-9]))|(?P<spaces> +)"
    r"|(?P<singles>[0-9\x00-\x1f\x7f]+)|(?P<signs>[!-/:-@\[-`{-~]+)"
    rf"|(?P<latin>[{_LATIN}]+)|(?P<near>[{_NEAR}]+)|(?P<east>[{_EAST}]+)"
    rf"|(?P<rest>[^\x00-\x7f{_LATIN}{_NEAR}{_EAST}]+)"
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]")
_CLUSTER = re.compile(r"[bcdfghjklmnpqrstvwxz]{3,}")
_EACH = {"single": 1.0, "singles": 1.0, "signs": 0.75, "latin": 1.4, "near": 1.15, "east": 1.5}
"""Tokens of one character."""
_DENSE = 0.76
"""Tokens of a letter in base64, hashes and keys."""
_CAPITAL = 0.7


@lru_cache(maxsize=1024)  # the same turns are counted again at every step
def tokens_in(text: str) -> int:
    """How many tokens a text has, rather too many than too few."""
    counted = sum(_run(found.lastgroup or "", found.group()) for found in _RUNS.finditer(text))
    return int(counted) + bool(text)


def _run(kind: str, run: str) -> float:
    match kind:
        case "word":
            return _word(run)
        case "capitals":
            return _capitals(run)
        case "spaces":  # one goes with the word after it, but not with a number
            return 1 + len(run) // 16 if len(run) > 1 else 0
        case "long":
            return _long(run)
        case "rest":  # byte by byte, where a vocabulary does not have the character
            return len(run.encode("utf-8", "surrogatepass"))
        case _:
            return _EACH[kind] * len(run)


def _word(word: str) -> float:
    """Common letters come in threes and fours; clusters of consonants are rarely in a vocabulary."""
    hard = sum(len(cluster.group()) - 2 for cluster in _CLUSTER.finditer(word))
    return (1 if len(word) <= 4 else (len(word) + 2) / 3.5) + 0.8 * hard


def _capitals(run: str) -> float:
    return max(1.0, _CAPITAL * len(run))


def _long(run: str) -> float:
    """A long name, or what no one can pronounce: it has digits, or changes case all the time."""
    parts: list[str] = _PARTS.findall(run)
    digits = sum(part.isdigit() for part in parts)
    if digits or len(run) < 3 * len(parts):
        return digits + _DENSE * (len(run) - digits)
    return sum(_word(part) if part[-1].islower() else _capitals(part) for part in parts)
