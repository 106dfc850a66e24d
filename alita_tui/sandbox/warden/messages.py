"""Messages between the judge and a party: 4 bytes of length (big endian), then one JSON object."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

LARGEST = 1 << 20
"""Bytes of one message."""
DEEPEST = 100


class Unreadable(ValueError):
    """A message that is too large, nested too deeply, or not JSON."""


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as bytes. Raise TypeError or ValueError for a value that is no JSON, Unreadable if too large."""
    data = json.dumps(message, allow_nan=False).encode()
    if len(data) > LARGEST:
        raise Unreadable(f"it is {len(data)} bytes long, of at most {LARGEST}")
    return struct.pack(">I", len(data)) + data


def size_of(head: bytes) -> int:
    """Return the number of bytes that follow this header. Raise Unreadable."""
    size = int(struct.unpack(">I", head)[0])
    if size > LARGEST:
        raise Unreadable(f"it announces {size} bytes, of at most {LARGEST}")
    return size


def decode(data: bytes) -> dict[str, Any]:
    """Return the message in these bytes. Raise Unreadable."""
    try:
        message = strict_json(data)
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"it is no JSON: {str(error)[:200] or type(error).__name__}") from None
    if not isinstance(message, dict):
        raise Unreadable("it is no JSON object")
    if _depth(message) > DEEPEST:
        raise Unreadable(f"it is nested more than {DEEPEST} levels deep")
    return message


def strict_json(data: bytes) -> Any:
    """Return the value of JSON without NaN and infinity. Raise ValueError, RecursionError, MemoryError."""
    return _DECODER.decode(data.decode(json.detect_encoding(data), "surrogatepass"))


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else float(_no_number(text[:40]))


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
"""Made once: `json.loads` would make one for each message."""


def _depth(value: Any) -> int:
    deepest, pending = 0, [(value, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        if isinstance(node, dict):
            pending += [(inner, level + 1) for inner in node.values()]
        elif isinstance(node, list):
            pending += [(inner, level + 1) for inner in node]
    return deepest
