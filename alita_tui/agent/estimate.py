"""Tokens by length, for what has to be known before a call. Rather too many than too few."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from alita_tui.spine.ports import ModelRequest
from alita_tui.spine.values import Usage

_RUNS = re.compile(r"([A-Za-z]+)|( +)(?=\d)|( +)|([^A-Za-z ]+)")
_PER_MESSAGE = 8
"""Tokens of the frame around a message."""
_MARGIN = 1.1


@lru_cache(maxsize=1024)  # the same turns are counted again at every step
def tokens_in(text: str) -> int:
    """About how many tokens a text has: words by four letters, the rest by its bytes.

    Words of Latin letters come to about four letters a token. A space goes with the word or sign after
    it, but not with a number. Digits, signs and other scripts are counted as two bytes a token, which
    is more than the known tokenizers take.
    """
    counted = 0
    for word, apart, _, rest in _RUNS.findall(text):
        if word:
            counted += (len(word) + 3) // 4
        elif rest:
            counted += (len(rest.encode("utf-8", "surrogatepass")) + 1) // 2
        elif apart:
            counted += 1
    return counted


def worst(request: ModelRequest) -> Usage:
    """What a call takes at most: its input with a margin, its output at the maximum."""
    parts = [request.system, *(message.text for message in request.messages)]
    parts += [
        msgspec.json.encode(call.arguments).decode("utf-8", "replace") + call.name
        for message in request.messages
        for call in message.requests
    ]
    parts += [msgspec.json.encode(tool).decode() for tool in request.tools]
    counted = sum(map(tokens_in, parts)) + _PER_MESSAGE * (len(request.messages) + len(request.tools) + 1)
    return Usage(input_tokens=int(counted * _MARGIN), output_tokens=request.max_tokens, reported=False)


class Scales:
    """How far a model's own counts were above the estimate; later estimates are raised by as much."""

    def __init__(self) -> None:
        self._of: dict[str, float] = {}

    def learn(self, model: str, estimated: Usage, told: Usage) -> None:
        """Compare an estimate, as `worst` gave it, with what the provider told."""
        if told.reported and estimated.input_tokens:
            ratio = _MARGIN * told.input_tokens / estimated.input_tokens
            self._of[model] = max(self._of.get(model, 1.0), ratio)

    def scaled(self, model: str, estimated: Usage) -> Usage:
        """An estimate for this model."""
        tokens = int(estimated.input_tokens * self._of.get(model, 1.0))
        return msgspec.structs.replace(estimated, input_tokens=tokens)
