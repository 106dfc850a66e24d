"""Vectors of texts: from a server's `/embeddings`, or from a static model in a folder.

Wire format: https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from alita_tui.events import Usage
from alita_tui.llm.bounds import TooMuch
from alita_tui.llm.breaker import Breaker
from alita_tui.llm.openai_model import OpenAIModel
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.encoder import Encoded

_LASTING = ("auth", "payment", "not_found", "unavailable")
_LONGEST = 8000
"""Characters of one text that are encoded: the servers' limits are near 8,000 tokens."""
_MODEL_FILES = ("model.safetensors", "tokenizer.json", "0_StaticEmbedding/model.safetensors")


class EmbeddingModel(OpenAIModel):
    """One embedding model behind any base URL with OpenAI's protocol, with a breaker of its own."""

    lazy = "openai.resources.embeddings"
    remote = True
    clock: Callable[[], float] = staticmethod(time.monotonic)
    _breaker: Breaker | None = None

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return self._at.name

    async def encode(self, texts: Sequence[str]) -> Encoded:
        """Return vectors of texts. Raise ModelError; while the breaker is open, without asking."""
        breaker = self._breaker = self._breaker or Breaker()
        if not breaker.admit(self.clock()):
            refusal = breaker.cause or self._at.fault("unavailable", "It is asked already.")
            raise refusal.with_traceback(None)  # raised again, it would collect the frames of every call
        probe = breaker.state == "half_open"
        try:
            encoded = await self._encoded([text[:_LONGEST] for text in texts])
        except asyncio.CancelledError:  # the caller has waited long enough
            late = self._at.fault("timeout", f"{self._at.host} was too slow.")
            breaker.fail(self.clock(), late, probe=probe)
            raise
        except ModelError as error:
            if error.kind in _LASTING:
                breaker.disable(error)
            else:
                breaker.fail(self.clock(), error, probe=probe)
            raise
        breaker.succeed(self.clock())
        return encoded

    async def _encoded(self, texts: Sequence[str]) -> Encoded:
        await self.warm()
        import httpx2

        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._client.embeddings.create(
                    model=self._at.model, input=list(texts), encoding_format="float"
                )
            return Encoded(vectors=_vectors(answer, len(texts)), usage=_usage(answer))
        except (self._sdk.APIError, httpx2.RequestError, TooMuch, TimeoutError) as error:
            raise self._transport_fault(error) from None
        except (ValueError, TypeError, AttributeError) as error:
            problem = f"The vectors are not what the protocol says ({type(error).__name__})."
            raise self._at.fault("malformed", problem) from None


def _vectors(answer: Any, count: int) -> tuple[tuple[float, ...], ...]:
    """Return the vectors of an answer in the order of the texts. Raise ValueError, TypeError, AttributeError."""
    by_index = {entry.index: tuple(map(float, entry.embedding)) for entry in answer.data}
    vectors = tuple(by_index[at] for at in range(count) if at in by_index)
    if len(vectors) != count or not vectors[0] or len({len(vector) for vector in vectors}) != 1:
        raise ValueError("not one vector for each text")
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        raise ValueError("no numbers")
    return vectors


def _usage(answer: Any) -> Usage:
    read = getattr(answer.usage, "prompt_tokens", None)
    return Usage(input_tokens=read) if type(read) is int and read > 0 else Usage(reported=False)


class StaticModel:
    """A table of vectors by token in a folder, as model2vec and sentence-transformers write it. Nothing is sent."""

    remote = False

    def __init__(self, folder: Path) -> None:
        """Raise ModelError if the folder has no model."""
        if not any((folder / name).is_file() for name in _MODEL_FILES):  # a bare name would be downloaded
            raise ModelError(
                "unavailable",
                f"There is no static model in {folder}: {_MODEL_FILES[0]} is missing.",
                hint="Set library.encoder to a folder that model2vec or sentence-transformers wrote.",
            )
        self._folder = folder
        self._model: Any = None

    @property
    def name(self) -> str:
        """Return its folder, with a fingerprint of its files."""
        stamps = [
            (name, file.stat().st_size, file.stat().st_mtime_ns)
            for name in _MODEL_FILES
            if (file := self._folder / name).is_file()
        ]
        return f"{self._folder} {blake2b(repr(stamps).encode(), digest_size=8).hexdigest()}"

    async def encode(self, texts: Sequence[str]) -> Encoded:
        """Return vectors of texts. Raise ModelError."""
        return await asyncio.to_thread(self._encode, list(texts))

    def _encode(self, texts: list[str]) -> Encoded:
        try:
            if self._model is None:
                import model2vec

                self._model = model2vec.StaticModel.from_pretrained(self._folder)
            vectors = self._model.encode([text[:_LONGEST] for text in texts])
        except ImportError:
            raise ModelError(
                "unavailable",
                "The encoder of library.encoder needs the package model2vec.",
                hint="Install it: pip install 'alita-tui[encoder]'",
            ) from None
        except Exception as error:  # noqa: BLE001  # the reader names no errors of its own
            raise ModelError(
                "malformed",
                f"The model in {self._folder} cannot be read ({type(error).__name__}).",
                hint="Set library.encoder to a folder that model2vec or sentence-transformers wrote.",
            ) from None
        return Encoded(vectors=tuple(map(tuple, vectors.tolist())))

    def price(self, usage: Usage) -> float | None:
        """Return 0: it runs here."""
        return 0.0

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""
