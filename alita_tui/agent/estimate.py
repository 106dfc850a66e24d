"""Estimates the tokens of a call before it is made: an upper bound until replies show the real number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from alita_tui.agent.tokens import PLAIN, by_script, counted
from alita_tui.events import Usage, Value, as_json
from alita_tui.spine.ports.models import ModelRequest

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
