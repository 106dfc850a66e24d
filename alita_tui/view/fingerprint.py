"""A hash of a view: views that show anything different differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

import msgspec

from alita_tui.state.rows import Rows
from alita_tui.view.later import Later
from alita_tui.view.model import SessionView

_PARTS = (
    "session_id", "title", "model", "recorded", "parent", "seq", "at", "step", "phase", "tasks", "plan", "trace",
    "library", "touched", "builds", "runs", "sandbox", "spend", "providers", "question", "recalled", "calls",
)  # fmt: skip
"""The durable fields. Their order matters: recorded sessions store fingerprints."""


def fingerprint(view: SessionView) -> str:
    """Return the SHA-256 of a view's durable parts, in hex."""
    durable = {name: getattr(view, name) for name in _PARTS}
    if view.state.queue or view.state.paused:  # older sessions have their fingerprints without it
        durable["queue"] = (view.state.paused, view.state.queue)
    if view.state.agents:
        durable["agents"] = view.state.agents
    if view.state.lanes:
        durable["lanes"] = view.state.lanes
    made = sha256()
    try:
        for piece in _json(durable):
            made.update(piece)
    except UnicodeEncodeError:  # a lone surrogate in a draft's bytes
        return sha256(json.dumps(msgspec.to_builtins(durable, enc_hook=_whole)).encode()).hexdigest()
    return made.hexdigest()


def _json(durable: dict[str, object]) -> Iterator[bytes]:
    """Yield the parts as one JSON object, so that a long trace is never in memory as a whole."""
    encode = msgspec.json.Encoder(enc_hook=_whole).encode
    before = b"{"
    for name, value in durable.items():
        yield before + encode(name) + b":"
        before = b","
        if isinstance(value, Rows):
            yield b'{"full":['
            for number, chunk in enumerate(value.full):
                yield (b"," if number else b"") + encode(chunk)
            yield b'],"tail":' + encode(value.tail) + b"}"
        else:
            yield encode(value)
    yield b"}"


def _whole(value: object) -> str:
    if isinstance(value, Later):
        return value.read()
    raise NotImplementedError(f"A view holds {type(value).__name__}, which has no JSON.")
