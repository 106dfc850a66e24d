"""The tool's only way out: connections to a port of the loopback, carried over the channel to the broker.

The warden moves bytes and knows nothing of what they mean; the host reads, judges and acts. Frames,
each with the number of a connection: `C` it was made, `N` bytes, `K` so many of them were taken, `X`
no more will come. No side sends more than a window that was not taken, so that nothing piles up.
"""

from __future__ import annotations

import json
import select
import socket
import struct
from typing import Any

from alita_tui.sandbox.warden.line import Line

WINDOW = 1 << 18
PIECE = 1 << 16
TOLD = 1 << 16
"""So many taken bytes are worth a frame that says so."""
MOST = 16
"""Connections at a time."""
BACKLOG = 128
"""Connections that wait to be accepted; past that the kernel has them try again a second later."""


class Connection:
    """One connection of the tool."""

    def __init__(self, own: socket.socket) -> None:
        self.socket = own
        self.credit = WINDOW
        """Bytes that the host would still take."""
        self.unwritten = bytearray()
        self.taken = 0
        """Bytes that were written and not told of."""
        self.heard_all = False
        """True once the tool sends no more."""
        self.told_all = False
        """True once the host sends no more."""
        self.broken = False


class Doors:
    """All connections of one run. Without `open` there are none and cannot be any."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._listener: socket.socket | None = None
        self._count = 0
        self._open: dict[int, Connection] = {}
        self.longer = 0.0
        """Seconds that the host allows beyond the limit, because the run waits for it."""

    def open(self, asked: bytes) -> bytes:
        """Listen; what the tool is told of it, with the port put in."""
        if not asked:
            return b"{}"
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(BACKLOG)
        self._listener.setblocking(False)
        port = str(self._listener.getsockname()[1])
        return json.dumps(json.loads(asked)).replace("{port}", port).encode()

    def readers(self) -> list[Any]:
        """What to wait for to be readable."""
        found: list[Any] = [one.socket for one in self._open.values() if one.credit and not one.heard_all]
        if self._listener is not None and len(self._open) < MOST:
            found.append(self._listener)
        return found

    def writers(self) -> list[Any]:
        """What to wait for to be writable."""
        return [one.socket for one in self._open.values() if one.unwritten]

    def obey(self, kind: bytes, payload: bytes) -> None:
        """A frame of the host."""
        if kind == b"W":
            self.longer += struct.unpack(">d", payload)[0]
            return
        number = struct.unpack(">I", payload[:4])[0]
        one = self._open.get(number)
        if one is None:
            return
        if kind == b"N" and one.broken:
            self._took(number, one, len(payload) - 4)
        elif kind == b"N":
            one.unwritten += payload[4:]
            self._write(number, one)
        elif kind == b"K":
            one.credit += struct.unpack(">I", payload[4:])[0]
        elif kind == b"X":
            one.told_all = True
            self._settle(number, one)

    def turn(self, ready: list[Any], writable: list[Any]) -> None:
        """Move what can be moved without waiting."""
        for number, one in list(self._open.items()):
            if one.socket in writable:
                self._write(number, one)
            if number in self._open and one.socket in ready:
                self._read(number, one)
        if self._listener is not None and self._listener in ready:
            try:
                own = self._listener.accept()[0]
            except OSError:
                return  # it gave up before it was accepted
            own.setblocking(False)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._count += 1
            self._open[self._count] = Connection(own)
            self._say(b"C", self._count)

    def close(self) -> None:
        """The run is over."""
        for one in self._open.values():
            one.socket.close()
        self._open.clear()
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _read(self, number: int, one: Connection) -> None:
        try:
            data = one.socket.recv(min(PIECE, one.credit))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            one.credit -= len(data)
            self._say(b"N", number, data)
        else:
            one.heard_all = True
            self._say(b"X", number)
            self._settle(number, one)

    def _write(self, number: int, one: Connection) -> None:
        taken = 0
        try:
            while one.unwritten and select.select([], [one.socket], [], 0)[1]:
                sent = one.socket.send(one.unwritten)
                del one.unwritten[:sent]
                taken += sent
        except BlockingIOError:
            pass
        except OSError:
            taken += len(one.unwritten)
            one.unwritten.clear()
            one.broken = True
        self._took(number, one, taken)
        self._settle(number, one)

    def _took(self, number: int, one: Connection, count: int) -> None:
        one.taken += count
        if one.taken >= TOLD:
            self._say(b"K", number, struct.pack(">I", one.taken))
            one.taken = 0

    def _settle(self, number: int, one: Connection) -> None:
        """Let a connection go once the host has said all, and all of that is written."""
        if one.told_all and not one.unwritten:
            if not one.heard_all:
                self._say(b"X", number)
            one.socket.close()
            self._open.pop(number, None)

    def _say(self, kind: bytes, number: int, data: bytes = b"") -> None:
        self._line.send(kind, struct.pack(">I", number) + data)
