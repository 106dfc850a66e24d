"""A hash of a view: views that show anything different differ.

The chunks of its rows are hashed one by one, so that the hashes of the finished ones can be kept (`Digests`).
"""

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


_BY_CHUNKS = "2:"
"""Begins a fingerprint in whose hash a chunk of rows stands as its own hash."""


class Digests:
    """The hashes of the full chunks of a view's rows; only chunks that are new are hashed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}
        """By the id of a chunk: the chunk, which keeps its id from being used again, and its hash."""

    def missing(self, view: SessionView) -> list[tuple[object, ...]]:
        """Return the full chunks that are not hashed yet; forget those that the view no longer has."""
        chunks = [chunk for rows in _durable(view).values() if isinstance(rows, Rows) for chunk in rows.full]
        kept = {id(chunk) for chunk in chunks}
        self._known = {key: known for key, known in self._known.items() if key in kept}
        return [chunk for chunk in chunks if id(chunk) not in self._known]

    def of(self, chunk: tuple[object, ...]) -> str:
        """Return the hash of a chunk."""
        known = self._known.get(id(chunk))
        if known is None:
            known = self._known[id(chunk)] = (chunk, sha256(_encoded(chunk)).hexdigest())
        return known[1]


def fingerprint(view: SessionView, digests: Digests | None = None) -> str:
    """Return a hash of a view's durable parts; `digests` holds the hashes of chunks that are known already."""
    chunk_digests = digests or Digests()
    parts = {
        name: (tuple(map(chunk_digests.of, value.full)), value.tail) if isinstance(value, Rows) else value
        for name, value in _durable(view).items()
    }
    whole = sha256()
    for name, value in parts.items():
        whole.update(_encoded((name, value)))
    return _BY_CHUNKS + whole.hexdigest()


def fingerprint_like(recorded: str, view: SessionView) -> str:
    """Return the fingerprint of a view in the form of a recorded one, so that the two can be compared."""
    return fingerprint(view) if recorded.startswith(_BY_CHUNKS) else _in_one_piece(view)


def _durable(view: SessionView) -> dict[str, object]:
    durable: dict[str, object] = {name: getattr(view, name) for name in _PARTS}
    if view.state.queue or view.state.paused:  # older sessions have their fingerprints without it
        durable["queue"] = (view.state.paused, view.state.queue)
    if view.state.agents:
        durable["agents"] = view.state.agents
    if view.state.lanes:
        durable["lanes"] = view.state.lanes
    return durable


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:  # a lone surrogate in a draft's bytes
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain)).encode()


def _in_one_piece(view: SessionView) -> str:
    """Return the fingerprint as it was recorded before chunks had hashes of their own."""
    durable = _durable(view)
    whole = sha256()
    try:
        for piece in _json(durable):
            whole.update(piece)
    except UnicodeEncodeError:
        return sha256(json.dumps(msgspec.to_builtins(durable, enc_hook=_plain)).encode()).hexdigest()
    return whole.hexdigest()


def _json(durable: dict[str, object]) -> Iterator[bytes]:
    """Yield the parts as one JSON object, so that a long trace is never in memory as a whole."""
    encode = msgspec.json.Encoder(enc_hook=_plain).encode
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


def _plain(value: object) -> str:
    if isinstance(value, Later):
        return value.read()
    raise NotImplementedError(f"A view holds {type(value).__name__}, which has no JSON.")
