"""Limits for any server: silence, total time, and bytes.

The HTTP library's own time-out counts every byte, so that a comment per second keeps a dead reply alive.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

T = TypeVar("T")

_IN_ALL = 15.0
"""Maximum time of a reply as a multiple of the silence limit: half an hour with the time-out of 120 seconds."""
MOST_BYTES = 64_000_000
"""Bytes of one answer: about 200,000 tokens, each in an event of its own."""
MOST_LINE = 4_000_000
"""Bytes of one event, which the SDKs join piece by piece in quadratic time."""
MOST_PLAIN = 4_000_000
"""Bytes of an answer that is not a stream: a list of models, an error."""


class TooMuch(Exception):
    """A server exceeded a bound; the text names it."""


class Silent(TooMuch):
    """A server was silent for too long, or took too long in all."""


async def bounded(pieces: AsyncGenerator[T, None], silence: float) -> AsyncGenerator[T, None]:
    """Yield the pieces as long as each comes within `silence` seconds and all within fifteen times that.

    Only pieces count; pings, comments and empty events are silence. Raise Silent.
    """
    end = time.monotonic() + _IN_ALL * silence
    while True:
        remaining = end - time.monotonic()
        try:
            async with asyncio.timeout(min(silence, remaining)):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            problem = (
                f"took more than {_IN_ALL * silence:g}"
                if remaining < silence
                else f"said nothing for {silence:g}"
            )
            raise Silent(f"{problem} seconds") from None
        yield piece


async def watch(response: Any) -> None:
    """Bound the body of a response; a hook of the HTTP client. Raise TooMuch."""
    if response.headers.get("content-encoding", "identity") != "identity":
        # Compression was not requested; a few bytes could become gigabytes.
        raise TooMuch("sent a compressed answer, which was not asked for")
    streamed = "event-stream" in response.headers.get("content-type", "")
    response.stream = _counted(response.stream, MOST_BYTES if streamed else MOST_PLAIN)


def _counted(stream: Any, limit: int) -> Any:
    import httpx2

    class Counted(httpx2.AsyncByteStream):
        """A body that fails once it exceeds its limit."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = line = 0
            async for chunk in stream:
                received += len(chunk)
                line = len(chunk) - 1 - newline if (newline := chunk.rfind(b"\n")) >= 0 else line + len(chunk)
                if received > limit or line > MOST_LINE:
                    exceeded = limit if received > limit else MOST_LINE
                    raise TooMuch(f"sent more than {exceeded // 1_000_000} megabytes")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Counted()
