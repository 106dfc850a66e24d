"""The only function that a coordinator can run on a worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Answering = Callable[[object], Awaitable[str]]
_answering: list[Answering] = []


def install(answering: Answering) -> None:
    """Set the function with which this process answers orders."""
    _answering[:] = [answering]


async def batch(order: object) -> str:
    """Return the answer to an order. Both are JSON."""
    return await _answering[0](order)
