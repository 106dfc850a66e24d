"""Encoders: they turn texts into vectors, so that a search finds the same meaning in other words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from alita_tui.events.base import Value
from alita_tui.events.model import Usage


class Encoded(Value, frozen=True):
    """Vectors in the order of their texts, and the usage of the call."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage = Usage()


class Encoder(Protocol):
    """An encoder. Implemented by `llm`."""

    @property
    def name(self) -> str:
        """Identifies the encoder; changes with anything that changes its vectors."""

    @property
    def remote(self) -> bool:
        """Whether texts leave this process, and a call may cost."""

    async def encode(self, texts: Sequence[str]) -> Encoded:
        """Return vectors of texts. Raises ModelError, without a request if the last calls failed."""

    def price(self, usage: Usage) -> float | None:
        """Return the cost of a usage in US dollars; None if no price is known."""

    async def aclose(self) -> None:
        """Close connections."""
