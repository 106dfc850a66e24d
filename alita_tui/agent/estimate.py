"""What a call may take, before it is made. Rather too much than too little, until use shows how much it is."""

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
"""How much more than it is counted a text may take."""
_LEAST = {PLAIN: 0.4}
"""Of the count with its margin, the share that a text in this script takes at least: the prose of the largest
vocabulary. Other scripts are taken to take nothing."""
_SHARE = 0.2
"""Of a request, from which a script in it tells how a model counts that script."""
_SLACK = 1.3
"""How much more other texts in a script may take than those that were counted."""
_FLOOR = 0.15
"""Of the count, what a model is believed to take at least, whatever its server tells."""


class Estimate(Value, frozen=True):
    """What a request takes at most."""

    parts: Mapping[str, float]
    """Tokens by script, margin included; see `agent.tokens`."""
    output: int
    """Tokens of the longest reply."""

    @property
    def input(self) -> float:
        """Tokens of all that is sent."""
        return sum(self.parts.values())


def estimate_of(request: ModelRequest) -> Estimate:
    """What a call takes at most: its input with a margin, its output at the maximum."""
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
    """What a call takes at most on a model that nothing is known of."""
    return Scales().bound("", estimate_of(request))


class Scales:
    """How models count, as far as their replies showed.

    A model that counts more than the estimate is estimated higher. One that counts a script in fewer tokens,
    as larger vocabularies do by a factor of four, is estimated lower for that script alone: what is known of
    its Russian says nothing of its code.
    """

    def __init__(self) -> None:
        self._above: dict[str, float] = {}
        self._scripts: dict[tuple[str, str], float] = {}

    def learn(self, model: str, estimated: Estimate, told: Usage) -> None:
        """Compare an estimate with what the provider told."""
        if not told.reported or not estimated.input or not told.input_tokens:
            return
        if told.input_tokens > sum(self._scaled(model, estimated).values()):
            self._scripts = {key: share for key, share in self._scripts.items() if key[0] != model}
            ratio = MARGIN * told.input_tokens / estimated.input
            self._above[model] = max(self._above.get(model, 1.0), ratio)
            return
        least = {script: tokens * _LEAST.get(script, 0.0) for script, tokens in estimated.parts.items()}
        for script, tokens in estimated.parts.items():
            if script == PLAIN or tokens < _SHARE * estimated.input:
                continue
            others = sum(least.values()) - least[script]
            share = min(max(_SLACK * (told.input_tokens - others) / tokens, _FLOOR), 1.0)
            known = self._scripts.get((model, script))
            # Up at once, down by and by: a text of another kind may come.
            self._scripts[model, script] = share if known is None else max(share, (3 * known + share) / 4)

    def bound(self, model: str, estimated: Estimate) -> Usage:
        """What a call takes at most on this model."""
        tokens = int(sum(self._scaled(model, estimated).values()) * self._above.get(model, 1.0))
        return Usage(input_tokens=tokens, output_tokens=estimated.output, reported=False)

    def _scaled(self, model: str, estimated: Estimate) -> dict[str, float]:
        return {
            script: tokens * self._scripts.get((model, script), 1.0)
            for script, tokens in estimated.parts.items()
        }


class Meter:
    """How long a reply has become, while it comes: a server may pass over the limit that it was given."""

    def __init__(self, most: int) -> None:
        """`most` are the tokens that the reply may have."""
        self._most = most
        self._pieces = 0
        self._waiting: list[str] = []
        self._letters = 0
        self._upper = self._lower = 0.0

    def over(self, text: str) -> bool:
        """Take in a piece; True where the reply is longer than it may be.

        It is where it has more pieces than tokens, each of which has one at least, and looks as long; or where
        it is longer by any vocabulary.
        """
        self._pieces += 1
        self._waiting.append(text)
        self._letters += len(text)
        if self._letters >= 4 * _LOOK or len(self._waiting) >= _LOOK:
            self._count()
        return self._lower > self._most or (self._pieces > self._most and self._upper > self._most)

    def _count(self) -> None:
        parts = counted("".join(self._waiting))
        self._waiting, self._letters = [], 0
        self._upper += sum(parts.values())
        self._lower += sum(tokens * _LEAST_SAID.get(script, 0.2) for script, tokens in parts.items())


_LOOK = 64
"""Pieces, or four times as many characters, after which a reply is counted again."""
_LEAST_SAID = {PLAIN: 0.65, "han": 0.35, "kana": 0.3, "hangul": 0.3}
"""Of a count, what the largest vocabularies take."""
