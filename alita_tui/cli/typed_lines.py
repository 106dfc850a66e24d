"""Lines that a person types, and questions that input typed ahead does not answer."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import termios

import typer

_MOMENT = 0.3
"""Seconds after a question in which a typed line does not count: nobody can have read the question yet."""


class Lines:
    """Reads typed lines, one at a time."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._buffer = b""
        self._ended = False
        self._more = asyncio.Event()

    def __enter__(self) -> Lines:
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)

    def _read(self) -> None:
        if not select.select([self._fd], [], [], 0)[0]:
            return  # the input was discarded meanwhile
        piece = os.read(self._fd, 65_536)
        self._ended = self._ended or not piece
        if self._ended:
            asyncio.get_running_loop().remove_reader(self._fd)
        self._buffer += piece
        self._more.set()

    async def next(self) -> str | None:
        """Return the next line without its end; None at the end of the input."""
        while b"\n" not in self._buffer:
            if self._ended:
                return None
            self._more.clear()
            await self._more.wait()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def asked(self, prompt: str) -> str | None:
        """Print a question and return the line typed after it; input typed before it is discarded."""
        self._throw_away()
        typer.echo(prompt)
        await asyncio.sleep(_MOMENT)
        if self._throw_away():
            typer.echo("What was typed before the question could be read is not taken. Type it again.")
        return await self.next()

    def _throw_away(self) -> bool:
        """Discard input that was typed but not read yet; return whether there was any."""
        anything = bool(self._buffer) or bool(select.select([self._fd], [], [], 0)[0] and not self._ended)
        self._buffer = b""
        termios.tcflush(self._fd, termios.TCIFLUSH)
        return anything
