"""Lines that a person types, and questions that nothing typed ahead answers."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import termios

import typer

_MOMENT = 0.3
"""Seconds after a question in which a typed line does not count as an answer: it cannot have been read yet."""


class Lines:
    """Lines that are typed, one at a time."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._known = b""
        self._ended = False
        self._more = asyncio.Event()

    def __enter__(self) -> Lines:
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)

    def _read(self) -> None:
        if not select.select([self._fd], [], [], 0)[0]:
            return  # what made it readable was thrown away meanwhile
        piece = os.read(self._fd, 65_536)
        self._ended = self._ended or not piece
        if self._ended:
            asyncio.get_running_loop().remove_reader(self._fd)
        self._known += piece
        self._more.set()

    async def next(self) -> str | None:
        """Return the next line without its end; None at the end of the input."""
        while b"\n" not in self._known:
            if self._ended:
                return None
            self._more.clear()
            await self._more.wait()
        line, _, self._known = self._known.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def asked(self, prompt: str) -> str | None:
        """Return the line that is typed after a question stood there; what was typed before it is thrown away."""
        self._throw_away()
        typer.echo(prompt)
        await asyncio.sleep(_MOMENT)
        if self._throw_away():
            typer.echo("What was typed before the question could be read is not taken. Type it again.")
        return await self.next()

    def _throw_away(self) -> bool:
        """Forget what was typed and not read; return whether there was something."""
        some = bool(self._known) or bool(select.select([self._fd], [], [], 0)[0] and not self._ended)
        self._known = b""
        termios.tcflush(self._fd, termios.TCIFLUSH)
        return some
