"""What an encoder made of the library's texts: kept in a file by the texts' digests, compared in memory.

A tool is one vector: that of its own words, and the mean of those of the needs that it has met, to equal parts. After
five uses that found more than its nearest need did, or its nearest three.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from alita_tui.events import Value
from alita_tui.registry.index_cache import IndexCache

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_SCHEMA = 1
_DIGEST = 16
_QUERIES = 256
"""Vectors of queries that are kept in memory."""


class _Head(Value, frozen=True):
    schema: int
    encoder: str
    size: int
    keys: tuple[str, ...]


class Vectors:
    """The vectors of one encoder. Those of another one in the same file count as none."""

    def __init__(self, encoder: str, file: IndexCache) -> None:
        """`encoder` tells which one it is, and changes with it."""
        self._encoder = encoder
        self._file = file
        self._known: dict[str, Floats] | None = None
        self._texts: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._lacking: dict[str, None] | None = None
        """The library's texts without a vector, once they were looked for."""
        self._queries: dict[str, Floats] = {}
        self._changed = False
        self._tools: tuple[list[str], Floats] | None = None
        self._guard = threading.Lock()

    def know(self, texts: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        """Have exactly these tools: of each its own words, and the needs that it has met."""
        with self._guard:
            if texts != self._texts:
                self._texts, self._tools, self._lacking = dict(texts), None, None

    def missing(self, query: str) -> list[str]:
        """Return the texts without a vector: the query, then what tools say of themselves, then needs."""
        with self._guard:
            known = self._load()
            if self._lacking is None:
                self._lacking = {text: None for text in self._lasting() if text and _key(text) not in known}
            asked = query and _key(query) not in known and _key(query) not in self._queries
            return list(dict.fromkeys([query, *self._lacking] if asked else self._lacking))

    def keep(self, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Keep what the encoder gave for these texts; a vector of another length than the others is dropped."""
        import numpy as np

        with self._guard:
            known = self._load()
            first = next(iter((*known.values(), *self._queries.values(), *vectors)), ())
            lasting = set(self._lasting())
            for text, given in zip(texts, vectors, strict=True):
                vector = np.asarray(given, np.float32)
                length = float(np.linalg.norm(vector))
                if vector.shape != (len(first),) or not np.isfinite(length) or not length:
                    continue
                if text in lasting:
                    known[_key(text)] = vector / length
                    self._changed = True
                    (self._lacking or {}).pop(text, None)
                else:
                    self._queries[_key(text)] = vector / length
            while len(self._queries) > _QUERIES:
                del self._queries[next(iter(self._queries))]
            self._tools = None

    def save(self) -> None:
        """Write down the vectors of what the library has now, if there are new ones."""
        import numpy as np

        with self._guard:
            if not self._changed:
                return
            self._changed, known = False, self._load()
            kept = {key: known[key] for key in map(_key, self._lasting()) if key in known}
            size = len(next(iter(kept.values()), ()))
            head = msgspec.json.encode(
                _Head(schema=_SCHEMA, encoder=self._encoder, size=size, keys=tuple(kept))
            )
            matrix = np.array([*kept.values()], np.float32).tobytes()
            body = len(head).to_bytes(8, "little") + head + matrix
        self._file.write(blake2b(body, digest_size=_DIGEST).digest() + body)

    def cosines(self, query: str) -> dict[str, float]:
        """Return how near each tool is to a query; nothing without the query's vector."""
        with self._guard:
            asked = self._load().get(_key(query), self._queries.get(_key(query)))
            if asked is None:
                return {}
            if self._tools is None:
                self._tools = self._joined()
            names, matrix = self._tools
            return dict(zip(names, (matrix @ asked).tolist(), strict=True)) if names else {}

    def _lasting(self) -> dict[str, None]:
        """Return the texts of the library: what tools say of themselves, then needs."""
        own = [words for words, _ in self._texts.values()]
        return dict.fromkeys([*own, *(need for _, needs in self._texts.values() for need in needs)])

    def _joined(self) -> tuple[list[str], Floats]:
        import numpy as np

        known = self._load()
        joined: dict[str, Floats] = {}
        for name, (own, needs) in self._texts.items():
            if (vector := known.get(_key(own))) is None:
                continue
            met = [known[_key(need)] for need in needs if _key(need) in known]
            joined[name] = _unit(vector + _unit(np.mean(met, axis=0))) if met else vector
        return [*joined], np.array([*joined.values()], np.float32)

    def _load(self) -> dict[str, Floats]:
        if self._known is None:
            self._known = _read(self._file.read(), self._encoder)
        return self._known


def _key(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _unit(vector: Any) -> Floats:
    import numpy as np

    unit: Floats = (vector / (np.linalg.norm(vector) + 1e-9)).astype(np.float32)
    return unit


def _read(data: bytes, encoder: str) -> dict[str, Floats]:
    """Return the vectors of a file; nothing where it is damaged, or another encoder's."""
    import numpy as np

    body = data[_DIGEST:]
    if len(body) < 8 or blake2b(body, digest_size=_DIGEST).digest() != data[:_DIGEST]:
        return {}
    end = 8 + int.from_bytes(body[:8], "little")
    try:
        head = msgspec.json.decode(body[8:end], type=_Head)
        if (head.schema, head.encoder) != (_SCHEMA, encoder):
            return {}
        matrix = np.frombuffer(body, np.float32, offset=end).reshape(len(head.keys), head.size)
    except (msgspec.DecodeError, ValueError):
        return {}
    return dict(zip(head.keys, matrix, strict=True))
