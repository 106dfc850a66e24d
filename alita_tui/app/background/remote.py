"""A session that the background has open, as a console or a command here sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec.structs import replace

from alita_tui import __version__
from alita_tui.app.background import wire
from alita_tui.app.live_source import LiveSource
from alita_tui.spine.bus import Subscription
from alita_tui.spine.commands import CloseSession, Command, Steer, SubmitTask
from alita_tui.spine.envelope import Envelope, decode
from alita_tui.spine.errors import SandboxUnavailable, StoreError, UsageError
from alita_tui.spine.history import History
from alita_tui.spine.inventory import Inventory


class RemoteSession:
    """Implements `EventSource`, `CommandSink` and the console's `Upkeep` over the background's socket."""

    def __init__(self, session_id: str, history: History, socket: Path) -> None:
        """`history` starts with the events recorded so far, and grows."""
        self.session_id = session_id
        self.history = history
        self.left = False
        """True once this end has left."""
        self._news = Subscription()
        self.source = LiveSource(history, self._news)
        self._socket = socket
        self._writer: asyncio.StreamWriter | None = None
        self._early: list[Command] = []
        self._pending: dict[int, asyncio.Future[wire.Tended]] = {}

    async def run(self) -> None:
        """Pass events on until the background closes the session, or this is cancelled. Raises AlitaError."""
        async with wire.connected(self._socket) as link:
            if link is None:
                raise UsageError(
                    "No background runs for this home.", hint="Start one: alita serve, or alita run --detach"
                )
            reader, self._writer = link
            last = self.history[-1].seq or 0 if self.history else 0
            self._send(wire.Attach(session_id=self.session_id, after=last))
            for command in self._early:
                self._send(wire.doing(command))
            try:
                while (message := await self._next(reader)) is not None:
                    self._take(message)
            finally:
                self._writer = None
                self._news.close()
                for future in self._pending.values():
                    future.cancel()

    async def _next(self, reader: asyncio.StreamReader) -> wire.Reply | None:
        try:
            return await wire.reply(reader)
        except ValueError as error:
            raise StoreError(
                "The background says something that this alita does not know.",
                hint="Another version may run: alita serve --stop, then start it again.",
            ) from error

    def _take(self, message: wire.Reply) -> None:
        match message:
            case wire.News(envelope=raw):
                envelope = decode(bytes(raw))
                if envelope.seq is not None:
                    self.history.append(envelope)
                self._news.offer(envelope)
            case wire.Tended(number=number) if number in self._pending:
                self._pending.pop(number).set_result(message)
            case wire.Attached(version=version) if version != __version__:
                raise UsageError(
                    f"The background is alita {version}, this is {__version__}.",
                    hint="End it, and start it again: alita serve --stop",
                )
            case wire.Refused():
                raise UsageError(message.message, hint=message.hint)
            case _:
                pass

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        async for envelope in self.source:
            yield envelope

    def send(self, command: Command) -> None:
        """Send a command. CloseSession only leaves: the session continues in the background."""
        if isinstance(command, CloseSession):
            self.left = True
            if self._writer is not None:
                self._writer.close()
            return
        if isinstance(command, SubmitTask | Steer) and command.attach:
            command = replace(command, attach=tuple(str(Path(path).absolute()) for path in command.attach))
        if self._writer is None:
            self._early.append(command)
        else:
            self._send(wire.doing(command))

    def _send(self, message: wire.Request) -> None:
        assert self._writer is not None
        self._writer.write(wire.framed(message))

    # --- the sandbox around the session -------------------------------------------------------

    async def look(self) -> Inventory:
        """Return the sandbox's containers and environments. Raises SandboxUnavailable."""
        return (await self._tend("look")).inventory or Inventory(at=0.0)

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left; return how many containers and folders. Raises SandboxUnavailable."""
        return (await self._tend("reap")).counts

    async def rebuild(self) -> None:
        """Rebuild the base image. Raises SandboxUnavailable."""
        await self._tend("rebuild")

    async def _tend(self, action: str) -> wire.Tended:
        if self._writer is None:
            raise SandboxUnavailable("The session is not open there.")
        number = len(self._pending) + 1
        while number in self._pending:
            number += 1
        future: asyncio.Future[wire.Tended] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        self._send(wire.Tend(what=action, number=number))
        answer = await future
        if answer.problem:
            raise SandboxUnavailable(answer.problem, hint=answer.hint)
        return answer
