"""What the orchestrator's next call would send, by part, with tokens: for people, from the record alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from alita_tui.agent.actions import specs
from alita_tui.agent.compaction import SUMMARY_HEAD, Trimmed, size
from alita_tui.agent.context import RECALLED_HEAD
from alita_tui.agent.earlier import EARLIER_HEAD
from alita_tui.agent.prompt import Surroundings, orchestrator_prompt
from alita_tui.agent.tokens import tokens_in
from alita_tui.agent.working import UNKNOWN_WINDOW, Transcript, fitted, room_for
from alita_tui.events import Value
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.models import Message, ModelRequest

_HEADS = ((EARLIER_HEAD, "earlier tasks"), (SUMMARY_HEAD, "summary"), (RECALLED_HEAD, "memory"))
_ROLES = {"user": "task, person and news", "assistant": "the model's own replies", "tool": "observations"}


class Part(Value, frozen=True):
    """One part of a request."""

    name: str
    turns: int
    tokens: int
    """Estimated, rather too many than too few."""


class Preview(Value, frozen=True):
    """A request that was not made."""

    parts: tuple[Part, ...]
    tokens: int
    window: int
    """Tokens that the model reads and writes at most."""
    known_window: bool
    masked: int
    """Observations that are down to one line."""
    shortened: int
    left_out: int
    """Turns that are not sent."""


def preview(history: Sequence[Envelope], around: Surroundings, window: int, reply_tokens: int) -> Preview:
    """Return what the next call would send; `window` 0: not known."""
    request = ModelRequest(
        role="orchestrator",
        system=orchestrator_prompt(around),
        messages=(),
        tools=specs(),
        must_call="*",
        max_tokens=reply_tokens,
    )
    transcript = Transcript()
    transcript.hear(history)
    trimmed: Trimmed = fitted(transcript.shown(), room_for(request, window))
    tools = "".join(msgspec.json.encode(tool).decode() for tool in request.tools)
    parts = [
        Part(name="prompt", turns=1, tokens=tokens_in(request.system)),
        Part(name="actions", turns=len(request.tools), tokens=tokens_in(tools)),
    ]
    kinds: dict[str, list[Message]] = {}
    for message in trimmed.messages:
        kinds.setdefault(_kind(message), []).append(message)
    parts += [Part(name=name, turns=len(some), tokens=size(some)) for name, some in kinds.items()]
    return Preview(
        parts=tuple(parts),
        tokens=sum(part.tokens for part in parts),
        window=window or UNKNOWN_WINDOW,
        known_window=bool(window),
        masked=len(trimmed.masked),
        shortened=len(trimmed.shortened),
        left_out=trimmed.left_out,
    )


def _kind(message: Message) -> str:
    if message.role == "user":
        for head, name in _HEADS:
            if message.text.startswith(head):
                return name
    return _ROLES[message.role]
