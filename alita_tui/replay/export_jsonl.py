"""A session as JSON lines: a head that describes it, then one event a line; and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from alita_tui.events import UnknownEvent
from alita_tui.replay.export_facts import Facts, line_of
from alita_tui.spine.envelope import Envelope, decode, from_builtins
from alita_tui.spine.errors import UsageError

_HEAD = "alita_session"


def jsonl(envelopes: Iterable[Envelope], facts: Facts) -> str:
    """Return the lines. A redacted text has another digest, which a later check of the session reports."""
    head = {
        _HEAD: 1,
        "session_id": facts.session_id,
        "title": facts.title,
        "events": facts.events,
        "redacted_events": facts.redacted,
        "note": facts.note,
    }
    return "\n".join((json.dumps(head, ensure_ascii=False), *map(line_of, envelopes))) + "\n"


def from_jsonl(text: str, session_id: str = "") -> list[Envelope]:
    """Return the envelopes of an export, or of `alita run --json`, under an id; an empty id leaves theirs.

    A line that cannot be read becomes an `UnknownEvent`; transient events are left out. Raises UsageError if the
    text holds no session.
    """
    envelopes = list(_events(text, session_id))
    if not envelopes or all(isinstance(envelope.event, UnknownEvent) for envelope in envelopes):
        raise UsageError(
            "There is no session in this file.", hint="Give one that `alita sessions export` wrote as jsonl."
        )
    return [
        msgspec.structs.replace(envelope, seq=seq, session_id=session_id)
        for seq, envelope in enumerate(envelopes, 1)
    ]


def read_jsonl(path: Path, session_id: str = "") -> list[Envelope]:
    """Read the envelopes from a file. Raises UsageError."""
    try:
        text = path.expanduser().read_text("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    return from_jsonl(text, session_id)


def _events(text: str, session_id: str) -> Iterator[Envelope]:
    seq = 0
    for number, line in enumerate(text.split("\n")):
        if not line.strip() or (number == 0 and _is_head(line)):
            continue
        envelope = _read(line, session_id, seq + 1)
        if envelope.durable:
            seq += 1
            yield envelope


def _read(line: str, session_id: str, seq: int) -> Envelope:
    envelope = decode(line, session_id=session_id, seq=seq)
    if isinstance(envelope.event, UnknownEvent):
        with suppress(
            ValueError, RecursionError
        ):  # half a surrogate pair, which only the lenient parser accepts
            return from_builtins(json.loads(line), session_id=session_id, seq=seq)
    return envelope


def _is_head(line: str) -> bool:
    try:
        return _HEAD in msgspec.json.decode(line)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return False
