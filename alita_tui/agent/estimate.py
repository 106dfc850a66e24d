"""What a call may take, before it is made. Rather too much than too little."""

from __future__ import annotations

import msgspec

from alita_tui.agent.tokens import tokens_in
from alita_tui.spine.ports import ModelRequest
from alita_tui.spine.values import Usage

_PER_MESSAGE = 8
"""Tokens of the frame around a message."""
_BEFORE_TOOLS = 400
"""Tokens that providers, or the text protocol, put before a list of tools (Anthropic documents up to 346)."""
_MARGIN = 1.1


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
    counted += _BEFORE_TOOLS * bool(request.tools)
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
