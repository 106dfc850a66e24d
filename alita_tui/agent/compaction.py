"""Reduces a growing conversation: masking, then shortening, then a summary. Pure.

Old observations as one line cost little quality and half of the prompt (arXiv:2508.21433). They are
masked in batches, so that the beginning of the prompt stays the same for many calls and stays cached.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from alita_tui.agent.conversation import Entry
from alita_tui.agent.tokens import tokens_in
from alita_tui.events import Value
from alita_tui.spine.ports.models import Message
from alita_tui.spine.text import clip, one_line

OBSERVATION = 6_000
"""Characters shown of one observation at most."""
SUMMARY_HEAD = "Summary of what was done before, made by a model:"
SUMMARY = "summary"
"""Name of the turn that summarises others."""
_FRESH = 10
"""Observations that always stay whole."""
_BATCH = 6
"""Observations that are masked at once."""
_WORTH = 400
"""Characters from which masking an observation is worth it."""
_SHORT = 1_200
"""Characters that shortening leaves of an observation."""
_LAST = 1_000
"""Length in characters below which no text is cut."""
_NOTE = 60
"""Tokens of the note about turns that were left out."""
_LEAST = 0.10
"""Share of the prompt that a summary has to save."""


class Trimmed(Value, frozen=True):
    """The turns for the model, and what was left out."""

    messages: tuple[Message, ...]
    masked: tuple[int, ...] = ()
    shortened: tuple[int, ...] = ()
    left_out: int = 0
    """Turns that are not sent at all."""
    tokens_before: int = 0
    tokens_after: int = 0


def size(messages: Sequence[Message]) -> int:
    """Return the estimated tokens of messages."""
    return sum(map(_size, messages))


def _size(message: Message) -> int:
    return tokens_in(message.text) + sum(tokens_in(str(call.arguments)) + 8 for call in message.requests) + 8


def trim(entries: Sequence[Entry], room: int) -> Trimmed:
    """Mask old observations, then shorten the largest until all fit into `room` tokens or none can be shortened."""
    messages = [_clipped(entry) for entry in entries]
    before = size(messages)
    masked = []
    for place in _old(entries):
        if len(messages[place].text) > _WORTH:
            messages[place] = _stub(entries[place])
            masked.append(entries[place].seq)
    shortened: list[int] = []
    after = size(messages)
    while after > room:
        largest = max(
            (n for n, message in enumerate(messages) if message.role == "tool"),
            key=lambda n: len(messages[n].text),
            default=None,
        )
        if largest is None or len(messages[largest].text) <= _SHORT + 100:
            break
        text, _ = clip(messages[largest].text, _SHORT)
        note = f"\n(shortened; look with e{entries[largest].seq} shows all of it)"
        after -= _size(messages[largest])
        messages[largest] = msgspec.structs.replace(messages[largest], text=text + note)
        after += _size(messages[largest])
        shortened.append(entries[largest].seq)
    return Trimmed(
        messages=tuple(messages),
        masked=tuple(masked),
        shortened=tuple(sorted(shortened)),
        tokens_before=before,
        tokens_after=after,
    )


def fit(trimmed: Trimmed, room: int) -> Trimmed:
    """Leave out the oldest turns until the rest fits, then cut the longest text.

    The first turn (the task, or the summary of earlier turns) and the newest exchange stay.
    """
    turns = [*trimmed.messages]
    size_of = [_size(message) for message in turns]
    total, left_out = sum(size_of), 0
    pinned = next((n for n, message in enumerate(turns) if message.role == "assistant"), len(turns))
    newest = max((n for n, message in enumerate(turns) if message.role == "assistant"), default=0)
    end = pinned
    while total > room - _NOTE and end < newest:
        end += 1
        while end < newest and turns[end].role != "assistant":
            end += 1
        left_out = end - pinned
        total = sum(size_of[:pinned]) + sum(size_of[end:])
    if left_out:
        note = f"({left_out} earlier turns were left out here: the window is full. look_back still reads observations.)"
        turns = [*turns[:pinned], Message(role="user", text=note), *turns[end:]]
    while (total := size(turns)) > room:
        longest = max(range(len(turns)), key=lambda n: len(turns[n].text))
        text = turns[longest].text
        if len(text) < _LAST:
            break
        cut, _ = clip(text, max(len(text) // 2, _LAST // 2))
        turns[longest] = msgspec.structs.replace(turns[longest], text=cut)
    return msgspec.structs.replace(trimmed, messages=tuple(turns), left_out=left_out, tokens_after=total)


def oldest(entries: Sequence[Entry]) -> int:
    """Return how many entries from the beginning a summary may replace: at most half of them.

    It ends where every request has its result, and leaves the fresh observations alone.
    """
    observed = [n for n, entry in enumerate(entries) if entry.message.role == "tool"]
    last = min(len(entries) // 2, observed[-_FRESH] if len(observed) > _FRESH else 0)
    while last > 0 and (
        entries[last].message.role != "assistant" or entries[last - 1].seq >= entries[last].seq
    ):
        last -= 1
    return last


def saves_enough(total: int, before: int, after: int) -> bool:
    """Return whether replacing `before` tokens by `after` saves at least a tenth of `total`."""
    return before - after >= _LEAST * total


def summarised(entries: Sequence[Entry], upto: int, text: str) -> tuple[Entry, ...]:
    """Return the conversation with everything up to an event replaced by a summary; the person's words stay."""
    covered = [entry for entry in entries if entry.seq <= upto]
    persons_words = [entry for entry in covered if entry.message.role == "user"]
    message = Message(role="user", text=f"{SUMMARY_HEAD}\n{text}")
    return (*persons_words, Entry(seq=upto, message=message, name=SUMMARY), *entries[len(covered) :])


def _old(entries: Sequence[Entry]) -> list[int]:
    observed = [n for n, entry in enumerate(entries) if entry.message.role == "tool"]
    return observed[: max(len(observed) - _FRESH, 0) // _BATCH * _BATCH]


def _clipped(entry: Entry) -> Message:
    if entry.message.role != "tool":
        return entry.message
    text, cut = clip(entry.message.text, OBSERVATION)
    note = f"\n(look with e{entry.seq} shows all of it)" if cut else ""
    return msgspec.structs.replace(entry.message, text=text + note)


def _stub(entry: Entry) -> Message:
    text = entry.message.text
    short = f"[event {entry.seq}, {entry.name}: {len(text)} characters, left out] {one_line(text, 120)}"
    return msgspec.structs.replace(entry.message, text=short)
