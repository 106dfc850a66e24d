"""The envelope around an event: its place in the session, its time, its JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import msgspec
from msgspec.structs import replace

from alita_tui.events import NO_AGENT, NO_TASK, AgentId, SessionEvent, TaskId, Transient, UnknownEvent, ready
from alita_tui.events.upgrades import upgrade_approval
from alita_tui.spine.origin import LEAD

SCHEMA_VERSION = 2
"""1: one task at a time, so no envelope named its task. 2: with task, agent and parent span."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event in its place. Durable ones count 1, 2, 3 … without gaps; transient have none."""

    seq: int | None
    session_id: str
    at: datetime
    """UTC, from the engine's clock."""
    task_id: TaskId = NO_TASK
    """The task that this belongs to; empty for what belongs to the session, and in schema 1."""
    agent_id: AgentId = NO_AGENT
    """The agent of the task; empty outside of a task, and in schema 1."""
    step: int = 0
    """ReAct step of the agent; 0 outside of one."""
    span: str = ""
    """The task, action, build or call that this belongs to."""
    parent: str = ""
    """The span that this one is a part of."""
    schema_version: int = 1
    """Left out in schema 1, so a record without it is one of these. `Bus` writes SCHEMA_VERSION."""
    event: SessionEvent

    @property
    def durable(self) -> bool:
        """True when the event is stored."""
        return not isinstance(self.event, Transient)

    @property
    def delegate(self) -> AgentId:
        """The agent that a part of the task was handed to; empty for the lead, for the session, and in schema 1."""
        return NO_AGENT if self.agent_id == LEAD else self.agent_id

    def belongs_to(self, task_id: TaskId) -> bool:
        """Return whether this is an event of a task. In schema 1, what follows a task belongs to it."""
        return self.task_id == task_id or self.schema_version == 1


_LONG_AGO = datetime.fromtimestamp(0, UTC)

_encoder = msgspec.json.Encoder()


@cache
def _decoder() -> msgspec.json.Decoder[Envelope]:
    """Return the decoder, built on first use: preparing it for forty kinds of event takes a while."""
    return msgspec.json.Decoder(ready(Envelope))


def encode(envelope: Envelope) -> bytes:
    """Return one line of JSON, without a line end."""
    return _encoder.encode(envelope)


def to_builtins(envelope: Envelope) -> dict[str, object]:
    """Return the envelope as plain JSON types, for a document store."""
    built: dict[str, object] = msgspec.to_builtins(envelope)
    return built


def from_builtins(raw: object, *, session_id: str = "", seq: int = 0) -> Envelope:
    """Return the envelope of a document; what does not validate becomes an `UnknownEvent` in its place.

    `session_id` and `seq` are used if the record does not state them.
    """
    try:
        return _timed(msgspec.convert(raw, ready(Envelope)))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        return _upgraded(raw) or _unknown(raw, str(error), session_id=session_id, seq=seq)


def decode(line: bytes | str, *, session_id: str = "", seq: int = 0) -> Envelope:
    """Return the envelope of one line of JSON; never raises (see `from_builtins`)."""
    try:
        return _timed(_decoder().decode(line))
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            raw = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raw = line if isinstance(line, str) else line.decode("utf-8", "replace")
        return _upgraded(raw) or _unknown(raw, str(error), session_id=session_id, seq=seq)


def _upgraded(raw: object) -> Envelope | None:
    """Return an envelope with an event of an older schema in today's form, or None."""
    event = raw.get("event") if isinstance(raw, dict) else None
    if not isinstance(event, dict) or event.get("kind") != "approval_resolved":
        return None
    try:
        return _timed(msgspec.convert({**raw, "event": upgrade_approval(event)}, ready(Envelope)))  # type: ignore[dict-item]
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return None


def _unknown(raw: object, reason: str, *, session_id: str, seq: int) -> Envelope:
    fields = raw if isinstance(raw, dict) else {}
    own_seq, own_at, own_id = fields.get("seq"), fields.get("at"), fields.get("session_id")
    try:
        at = datetime.fromisoformat(str(own_at))
        at = at if at.tzinfo else _LONG_AGO
    except ValueError:
        at = _LONG_AGO
    return Envelope(
        seq=own_seq if isinstance(own_seq, int) else seq,
        session_id=own_id if isinstance(own_id, str) else session_id,
        at=at,
        event=UnknownEvent(raw=_text(raw)[:4000], reason=reason),
    )


def _timed(envelope: Envelope) -> Envelope:
    """Return the envelope with a comparable time: one without a zone is taken to be UTC."""
    return envelope if envelope.at.tzinfo else replace(envelope, at=envelope.at.replace(tzinfo=UTC))


def _text(raw: object) -> str:
    if isinstance(raw, str):
        return raw
    try:
        return msgspec.json.encode(raw).decode("utf-8", "replace")
    except (UnicodeEncodeError, RecursionError):  # a lone surrogate, or nested too deep
        return repr(raw)
