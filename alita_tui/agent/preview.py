"""Shows people what the orchestrator's next call would send, by part, with tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from alita_tui import events as e
from alita_tui.agent.actions import specs
from alita_tui.agent.compaction import SUMMARY_HEAD, Trimmed, size
from alita_tui.agent.context_window import UNKNOWN_WINDOW, fitted, room_for
from alita_tui.agent.conversation import RECALLED_HEAD, Entry
from alita_tui.agent.prompt import (
    HEADS,
    Surroundings,
    block_text,
    due,
    instructions,
    orchestrator_prompt,
    sections,
    workspace,
)
from alita_tui.agent.tokens import tokens_in
from alita_tui.agent.transcript import EARLIER_HEAD, Transcript
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of_kind
from alita_tui.spine.ports.context import BLOCKS, NextCall, Part, Provided, Provider
from alita_tui.spine.ports.models import Message, ModelRequest
from alita_tui.spine.redaction import Redactor

_STARTS = {
    **{head: name for name, head in HEADS.items()},
    EARLIER_HEAD: "earlier",
    RECALLED_HEAD: "memory",
    SUMMARY_HEAD: "summary",
}
_ROLES = {"user": "task, person and news", "assistant": "the model's own replies", "tool": "observations"}
_TURNS = ("summary", *_ROLES.values())


def preview(
    history: Sequence[Envelope],
    around: Surroundings,
    provider: Provider,
    redactor: Redactor,
    *,
    defaults: Collection[str],
    window: int,
    reply_tokens: int,
) -> NextCall:
    """Return what the next call would send. Reads files, so it blocks.

    `defaults` are the blocks that the settings switch on; `window` is in tokens, 0 if unknown.
    """
    transcript = Transcript(defaults)
    transcript.read(history)
    off = transcript.off
    request = ModelRequest(
        role="orchestrator",
        system=orchestrator_prompt(around, off),
        messages=(),
        tools=specs(browser=around.browser),
        must_call="*",
        max_tokens=reply_tokens,
    )
    provided = provider.provide(_task(history), frozenset(BLOCKS) - off)
    entries = _with_due(transcript.shown(), around, redactor.value(provided), off)
    trimmed: Trimmed = fitted(entries, room_for(request, window))
    parts = _parts(request, around, trimmed.messages, off)
    return NextCall(
        parts=parts,
        tokens=sum(part.tokens for part in parts),
        window=window or UNKNOWN_WINDOW,
        known_window=bool(window),
        masked=len(trimmed.masked),
        shortened=len(trimmed.shortened),
        left_out=trimmed.left_out,
        problems=provided.problems,
    )


def _task(history: Sequence[Envelope]) -> str:
    """Return the newest task in the person's own words."""
    return next(
        (submitted.text for submitted in of_kind(reversed(history), e.TaskSubmitted)),
        "",
    )


def _with_due(
    entries: tuple[Entry, ...], around: Surroundings, provided: Provided, off: Collection[str]
) -> tuple[Entry, ...]:
    """Return the turns with those blocks that would be given before the call."""
    files = workspace(around)
    blocks = (*((files,) if files else ()), *provided.blocks)
    turns = [(entry.name, entry.message) for entry in entries if entry.message.role == "user"]
    messages = (Message(role="user", text=block_text(block)) for block in due(blocks, turns, off))
    return (*entries, *(Entry(seq=0, message=message) for message in messages))


def _parts(
    request: ModelRequest, around: Surroundings, messages: Sequence[Message], off: Collection[str]
) -> tuple[Part, ...]:
    tools = [msgspec.json.format(msgspec.json.encode(tool), indent=1).decode() for tool in request.tools]
    sent = "".join(msgspec.json.encode(tool).decode() for tool in request.tools)
    prompt = instructions()
    parts = [
        Part(name="prompt", turns=1, tokens=tokens_in(prompt), text=prompt),
        Part(name="actions", turns=len(tools), tokens=tokens_in(sent), text="\n".join(tools)),
    ]
    kinds: dict[str, list[Message]] = {}
    for message in messages:
        kinds.setdefault(_kind(message), []).append(message)
    in_prompt = sections(around)
    for name in BLOCKS:
        turns = kinds.get(name, [])
        prompt_part = in_prompt.get(name, "") if name not in off else ""
        parts.append(
            Part(
                name=name,
                block=name,
                on=name not in off,
                turns=len(turns) + bool(prompt_part),
                tokens=size(turns) + (tokens_in(prompt_part) if prompt_part else 0),
                text="\n\n".join((*((prompt_part,) if prompt_part else ()), *(turn.text for turn in turns))),
            )
        )
    parts += [
        Part(name=name, turns=len(kinds[name]), tokens=size(kinds[name]), text=_joined_text(kinds[name]))
        for name in _TURNS
        if name in kinds
    ]
    return tuple(parts)


def _joined_text(messages: Sequence[Message]) -> str:
    calls = [
        "\n".join((message.text, *(f"{call.name}({call.arguments})" for call in message.requests))).strip()
        for message in messages
    ]
    return "\n\n".join(calls)


def _kind(message: Message) -> str:
    if message.role == "user":
        for start, name in _STARTS.items():
            if message.text.startswith(start):
                return name
    return _ROLES[message.role]
