"""A hash of a view; views that show anything different have different hashes.

The chunks of a view's rows are hashed one by one, so that hashes of full chunks can be cached (`Digests`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

import msgspec

from alita_tui.state.rows import Rows
from alita_tui.view.deferred_text import DeferredText
from alita_tui.view.model import SessionView

_BY_CHUNKS = "2:"
"""Prefix of a fingerprint that was computed from the hashes of chunks."""


class Digests:
    """Caches the hashes of the full chunks of a view's rows, so that only new chunks are hashed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}
        """By the `id()` of a chunk: the chunk, held so that its id is not reused, and its hash."""

    def missing(self, view: SessionView) -> list[tuple[object, ...]]:
        """Return the full chunks that are not hashed yet; drop the hashes of chunks that the view no longer has."""
        chunks = [chunk for rows in _durable(view).values() if isinstance(rows, Rows) for chunk in rows.full]
        present = {id(chunk) for chunk in chunks}
        self._known = {key: entry for key, entry in self._known.items() if key in present}
        return [chunk for chunk in chunks if id(chunk) not in self._known]

    def of(self, chunk: tuple[object, ...]) -> str:
        """Return the hash of a chunk."""
        entry = self._known.get(id(chunk))
        if entry is None:
            entry = self._known[id(chunk)] = (chunk, sha256(_encoded(chunk)).hexdigest())
        return entry[1]


def fingerprint(view: SessionView, digests: Digests | None = None) -> str:
    """Return a hash of a view's durable parts; `digests` caches the hashes of chunks."""
    chunk_digests = digests or Digests()
    parts = {
        name: (tuple(map(chunk_digests.of, value.full)), value.tail) if isinstance(value, Rows) else value
        for name, value in _durable(view).items()
    }
    digest = sha256()
    for name, value in parts.items():
        digest.update(_encoded((name, value)))
    return _BY_CHUNKS + digest.hexdigest()


def fingerprint_like(recorded: str, view: SessionView) -> str:
    """Return the fingerprint of a view in the form of a recorded one, so that they can be compared."""
    return fingerprint(view) if recorded.startswith(_BY_CHUNKS) else _in_one_piece(view)


def _durable(view: SessionView) -> dict[str, object]:
    """Return the durable parts of a view by name."""
    state = view.state
    durable: dict[str, object] = {  # in this order: recorded sessions store fingerprints
        "session_id": state.session_id,
        "title": view.title,
        "model": view.model,
        "recorded": state.recorded,
        "parent": state.parent,
        "seq": state.seq,
        "at": state.at,
        "step": state.step,
        "phase": state.phase,
        "tasks": view.tasks,
        "plan": view.plan,
        "trace": view.trace,
        "library": state.library,
        "touched": state.touched,
        "builds": state.builds,
        "runs": view.runs,
        "sandbox": state.sandbox,
        "spend": view.spend,
        "providers": view.providers,
        "question": view.question,
        "recalled": state.recalled,
        "calls": state.calls,
    }
    # Fingerprints of older sessions lack these, so they are left out where they are empty.
    if state.queue or state.paused:
        durable["queue"] = (state.paused, state.queue)
    if state.agents:
        durable["agents"] = state.agents
    if state.lanes:
        durable["lanes"] = state.lanes
    return durable


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:  # a lone surrogate in a draft's bytes
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain)).encode()


def _in_one_piece(view: SessionView) -> str:
    """Return the fingerprint in the older form, which hashes all rows at once."""
    durable = _durable(view)
    digest = sha256()
    try:
        for part in _json(durable):
            digest.update(part)
    except UnicodeEncodeError:
        return sha256(json.dumps(msgspec.to_builtins(durable, enc_hook=_plain)).encode()).hexdigest()
    return digest.hexdigest()


def _json(durable: dict[str, object]) -> Iterator[bytes]:
    """Yield the parts of one JSON object, so that the JSON of a long trace is never in memory at once."""
    encode = msgspec.json.Encoder(enc_hook=_plain).encode
    separator = b"{"
    for name, value in durable.items():
        yield separator + encode(name) + b":"
        separator = b","
        if isinstance(value, Rows):
            yield b'{"full":['
            for number, chunk in enumerate(value.full):
                yield (b"," if number else b"") + encode(chunk)
            yield b'],"tail":' + encode(value.tail) + b"}"
        else:
            yield encode(value)
    yield b"}"


def _plain(value: object) -> str:
    if isinstance(value, DeferredText):
        return value.read()
    raise NotImplementedError(f"A view holds {type(value).__name__}, which has no JSON.")
