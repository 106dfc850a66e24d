"""Estimates from above how many tokens a text has, by its characters.

The weights are upper bounds of what byte-level and SentencePiece vocabularies of 32,000 to 200,000
tokens take for prose, code and data in each script. Where those differ much (digits, emoji, scripts that
only the larger ones know) the smallest vocabulary decides; a script without a weight of its own is
counted byte by byte. Only random letters between spaces can take more. Replies show how a model really counts, and
`Scales` learns it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from alita_tui.events import Usage, Value, as_json
from alita_tui.spine.ports.models import ModelRequest

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


_PER_MESSAGE = 8
"""Tokens of the frame around a message."""
_BEFORE_TOOLS = 400
"""Tokens that providers, or the text protocol, put before a list of tools (Anthropic documents up to 346)."""
MARGIN = 1.25
"""Factor by which a text may have more tokens than counted."""
_LEAST = {PLAIN: 0.4}
"""Share of the count (margin included) that a text in this script takes at least, measured on prose with the largest
vocabulary; 0 for other scripts."""
_SHARE = 0.2
"""Least share of a request that a script must have before the model's count of it is learned."""
_SLACK = 1.3
"""Factor by which other texts in a script may have more tokens than those that were measured."""
_FLOOR = 0.15
"""Least share of the estimated count that is believed, even if the server reports less."""


class Estimate(Value, frozen=True):
    """Upper bound of a request's tokens."""

    parts: Mapping[str, float]
    """Tokens by script, margin included; see `agent.tokens`."""
    output: int
    """Tokens of the longest reply."""

    @property
    def input(self) -> float:
        """Tokens of everything that is sent."""
        return sum(self.parts.values())


def estimate_of(request: ModelRequest) -> Estimate:
    """Return the upper bound of a call: its input with a margin, its output at the maximum."""
    texts = [request.system, *(message.text for message in request.messages)]
    for message in request.messages:
        for call in message.requests:
            texts.append(as_json(call.arguments) + call.name)
            texts += call.carried.values()
    texts += [msgspec.json.encode(tool).decode() for tool in request.tools]
    parts: dict[str, float] = defaultdict(float)
    for text in texts:
        for script, tokens in by_script(text).items():
            parts[script] += tokens * MARGIN
        parts[PLAIN] += bool(text) * MARGIN
    frame = _PER_MESSAGE * (len(request.messages) + len(request.tools) + 1)
    parts[PLAIN] += (frame + _BEFORE_TOOLS * bool(request.tools)) * MARGIN
    return Estimate(parts=dict(parts), output=request.max_tokens)


def worst(request: ModelRequest) -> Usage:
    """Return the upper bound of a call on an unknown model."""
    return Scales().bound("", estimate_of(request))


class Scales:
    """How models count tokens, learned from their replies.

    A model that counts more than the estimate is estimated higher. One that counts a script in fewer tokens,
    as larger vocabularies do by a factor of four, is estimated lower for that script alone: its count of
    Russian is no evidence about code.
    """

    def __init__(self) -> None:
        self._above: dict[str, float] = {}
        self._scripts: dict[tuple[str, str], float] = {}

    def learn(self, model: str, estimated: Estimate, usage: Usage) -> None:
        """Compare an estimate with the usage that the provider reported."""
        if not usage.reported or not estimated.input or not usage.input_tokens:
            return
        if usage.input_tokens > sum(self._scaled(model, estimated).values()):
            self._scripts = {key: share for key, share in self._scripts.items() if key[0] != model}
            ratio = MARGIN * usage.input_tokens / estimated.input
            self._above[model] = max(self._above.get(model, 1.0), ratio)
            return
        least = {script: tokens * _LEAST.get(script, 0.0) for script, tokens in estimated.parts.items()}
        for script, tokens in estimated.parts.items():
            if script == PLAIN or tokens < _SHARE * estimated.input:
                continue
            least_of_others = sum(least.values()) - least[script]
            share = min(max(_SLACK * (usage.input_tokens - least_of_others) / tokens, _FLOOR), 1.0)
            previous = self._scripts.get((model, script))
            # Up at once, down slowly, as the next text may be of another kind.
            self._scripts[model, script] = (
                share if previous is None else max(share, (3 * previous + share) / 4)
            )

    def bound(self, model: str, estimated: Estimate) -> Usage:
        """Return the upper bound of a call on this model."""
        tokens = int(sum(self._scaled(model, estimated).values()) * self._above.get(model, 1.0))
        return Usage(input_tokens=tokens, output_tokens=estimated.output, reported=False)

    def _scaled(self, model: str, estimated: Estimate) -> dict[str, float]:
        return {
            script: tokens * self._scripts.get((model, script), 1.0)
            for script, tokens in estimated.parts.items()
        }


class Meter:
    """Measures a reply while it streams in, because a server may ignore the limit that it was given."""

    def __init__(self, most: int) -> None:
        """`most` is the limit of the reply in tokens."""
        self._most = most
        self._pieces = 0
        self._uncounted: list[str] = []
        self._letters = 0
        self._upper = self._lower = 0.0

    def over(self, text: str) -> bool:
        """Add a piece; return True if the reply is over its limit.

        It is over if any vocabulary would count more tokens; or if it came in more pieces than the limit, each of at
        least one token, and the upper estimate agrees.
        """
        self._pieces += 1
        self._uncounted.append(text)
        self._letters += len(text)
        if self._letters >= 4 * _LOOK or len(self._uncounted) >= _LOOK:
            self._count()
        return self._lower > self._most or (self._pieces > self._most and self._upper > self._most)

    def _count(self) -> None:
        parts = counted("".join(self._uncounted))
        self._uncounted, self._letters = [], 0
        self._upper += sum(parts.values())
        self._lower += sum(tokens * _LEAST_SAID.get(script, 0.2) for script, tokens in parts.items())


_LOOK = 64
"""Pieces, or four times as many characters, after which a reply is counted again."""
_LEAST_SAID = {PLAIN: 0.65, "han": 0.35, "kana": 0.3, "hangul": 0.3}
"""Share of a count that the largest vocabularies need."""
