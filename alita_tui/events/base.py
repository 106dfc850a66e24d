"""Base classes of events and of the values in them, and their encoding."""

from __future__ import annotations

import json
import threading
from typing import Any, NewType, TypeVar

import msgspec

Json = Any
"""A JSON value. It is validated where it enters, not by the type checker."""

TaskId = NewType("TaskId", str)
NO_TASK = TaskId("")
"""In place of a task: it belongs to the session as a whole, or the command leaves the choice to the engine."""
AgentId = NewType("AgentId", str)
NO_AGENT = AgentId("")
"""In place of an agent: it is outside of a task, or it is about the agent that leads the task."""
BuildId = NewType("BuildId", str)
CallId = NewType("CallId", str)
ToolName = NewType("ToolName", str)
DraftDigest = NewType("DraftDigest", str)
"""SHA-256 (hex) of a draft: of everything that is shown for approval and used at run time."""
BuildDigest = NewType("BuildDigest", str)
"""SHA-256 (hex) of a draft and the packages it was tested with; an approval names it."""


T = TypeVar("T")
_known: set[object] = set()
_learning = threading.RLock()


def ready(kind: T) -> T:
    """Return a type after msgspec has prepared it, so that any thread can decode it.

    msgspec analyses a struct at its first use, and a second thread that meets it half way crashes the process
    (0.22: segmentation fault). So every decoded type passes here, one thread at a time.
    """
    if kind not in _known:
        with _learning:
            msgspec.json.Decoder(kind)
            _known.add(kind)
    return kind


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A frozen record made of JSON types only."""


def as_json(value: object, *, ordered: bool = False, indent: int = 0) -> str:
    """Return a value as JSON, on one line unless indented. Lone surrogates, which UTF-8 cannot hold, are escaped.

    With `ordered`, equal objects give the same text, whatever the order of their keys.
    """
    try:
        text = msgspec.json.encode(value, order="sorted" if ordered else None).decode()
        return msgspec.json.format(text, indent=indent) if indent else text
    except UnicodeEncodeError:  # a lone surrogate
        gaps = None if indent else (",", ":")
        return json.dumps(
            msgspec.to_builtins(value), sort_keys=ordered, indent=indent or None, separators=gaps
        )


def digest_of(*texts: str) -> str:
    """Return the SHA-256 (hex) over texts, each prefixed with its length so that no two lists collide."""
    from hashlib import sha256  # loads OpenSSL, which the first paint does not need

    sha = sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        sha.update(len(raw).to_bytes(8, "big"))
        sha.update(raw)
    return sha.hexdigest()


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Fact(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag=_snake
):
    """Base of all events; `kind` in JSON is the class's name in snake case.

    Frozen JSON makes no cycles, so the garbage collector need not look at a long session's events.
    """


class Transient(Fact, frozen=True, tag=_snake):
    """Base of the events that are shown and not stored."""
