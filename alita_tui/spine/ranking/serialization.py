"""Converts an index to bytes and back, so that a large one is not rebuilt. Damaged bytes are detected and ignored."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from alita_tui.events import Value, ready
from alita_tui.spine.ranking.index import Index

_SCHEMA = 2
"""Has to change whenever texts are split into words differently."""
_DIGEST = 16
_KINDS = {"int32": np.int32, "float32": np.float32}


class _Head(Value, frozen=True):
    schema: int
    stems: str
    words: str
    """All words as written."""
    keys: tuple[str, ...]
    marks: tuple[str, ...]
    """Digest of each text as it was indexed, in the order of `keys`."""
    arrays: tuple[tuple[str, str, int], ...]
    """Name, element type and length of each array, in order."""


def packed(index: Index, marks: dict[str, str]) -> bytes:
    """Return an index and the marks of its texts as bytes."""
    stems, words, keys, arrays = index.to_arrays()
    head = msgspec.json.encode(
        _Head(
            schema=_SCHEMA,
            stems="\n".join(stems),
            words="\n".join(words),
            keys=tuple(keys),
            marks=tuple(marks[key] for key in keys),
            arrays=tuple((name, str(array.dtype), len(array)) for name, array in arrays.items()),
        )
    )
    body = b"".join([len(head).to_bytes(8, "little"), head, *(array.tobytes() for array in arrays.values())])
    return blake2b(body, digest_size=_DIGEST).digest() + body


def unpacked(data: bytes) -> tuple[Index, dict[str, str]] | None:
    """Return the index and marks that `packed` wrote; None for any other bytes."""
    body = memoryview(data)[_DIGEST:]
    if len(body) < 8 or blake2b(body, digest_size=_DIGEST).digest() != data[:_DIGEST]:
        return None
    end = 8 + int.from_bytes(body[:8], "little")
    try:
        head = msgspec.json.decode(body[8:end], type=ready(_Head))
    except msgspec.DecodeError:
        return None
    if head.schema != _SCHEMA:
        return None
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, kind, length in head.arrays:
        arrays[name] = np.frombuffer(body, _KINDS[kind], length, end)
        end += arrays[name].nbytes
    stems, words = (text.split("\n") if text else [] for text in (head.stems, head.words))
    index = Index.from_arrays(stems, words, list(head.keys), arrays)
    return index, dict(zip(head.keys, head.marks, strict=True))
