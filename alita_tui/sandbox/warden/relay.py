"""The tool's only way out: connections to a port of the loopback, forwarded over the channel to the broker.

The warden moves bytes without reading them; the host reads, decides and acts. Every frame has the number of a
connection: `C` opened, `N` bytes, `K` the number of bytes taken, `X` end of data. Neither side sends more than a window
beyond what was taken, so that nothing accumulates.
"""

from __future__ import annotations

import json
import select
import socket
import struct
from typing import Any

from alita_tui.sandbox.warden.channel import Channel

WINDOW = 1 << 18
PIECE = 1 << 16
REPORTED = 1 << 16
"""Bytes taken after which a frame reports them."""
MOST = 16
"""Connections at a time."""
BACKLOG = 128
"""Connections that may wait; the kernel delays further ones by a second."""


class Connection:
    """One connection of the tool."""

    def __init__(self, tool_socket: socket.socket) -> None:
        self.socket = tool_socket
        self.credit = WINDOW
        """Bytes that the host still takes."""
        self.unwritten = bytearray()
        self.taken = 0
        """Bytes that were written and not reported yet."""
        self.tool_done = False
        """True once the tool sends no more."""
        self.host_done = False
        """True once the host sends no more."""
        self.broken = False


class Relay:
    """All connections of one run; none are possible before `open`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._listener: socket.socket | None = None
        self._count = 0
        self._open: dict[int, Connection] = {}
        self.added_seconds = 0.0
        """Seconds that the host adds to the time limit while the run waits for it."""

    def open(self, settings: bytes) -> bytes:
        """Listen; return the settings for the tool with the port filled in, or `{}` where nothing is granted."""
        if not settings:
            return b"{}"
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(BACKLOG)
        self._listener.setblocking(False)
        port = str(self._listener.getsockname()[1])
        return json.dumps(json.loads(settings)).replace("{port}", port).encode()

    def readers(self) -> list[Any]:
        """Return the sockets to read from."""
        sockets: list[Any] = [
            connection.socket
            for connection in self._open.values()
            if connection.credit and not connection.tool_done
        ]
        if self._listener is not None and len(self._open) < MOST:
            sockets.append(self._listener)
        return sockets

    def writers(self) -> list[Any]:
        """Return the sockets to write to."""
        return [connection.socket for connection in self._open.values() if connection.unwritten]

    def obey(self, kind: bytes, payload: bytes) -> None:
        """Handle a frame of the host."""
        if kind == b"W":
            self.added_seconds += struct.unpack(">d", payload)[0]
            return
        number = struct.unpack(">I", payload[:4])[0]
        connection = self._open.get(number)
        if connection is None:
            return
        if kind == b"N" and connection.broken:
            self._report_taken(number, connection, len(payload) - 4)
        elif kind == b"N":
            connection.unwritten += payload[4:]
            self._write(number, connection)
        elif kind == b"K":
            connection.credit += struct.unpack(">I", payload[4:])[0]
        elif kind == b"X":
            connection.host_done = True
            self._settle(number, connection)

    def turn(self, ready: list[Any], writable: list[Any]) -> None:
        """Read and write what is possible without waiting, and accept a connection."""
        for number, connection in list(self._open.items()):
            if connection.socket in writable:
                self._write(number, connection)
            if number in self._open and connection.socket in ready:
                self._read(number, connection)
        if self._listener is not None and self._listener in ready:
            try:
                tool_socket = self._listener.accept()[0]
            except OSError:
                return  # closed before it was accepted
            tool_socket.setblocking(False)
            tool_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._count += 1
            self._open[self._count] = Connection(tool_socket)
            self._send(b"C", self._count)

    def close(self) -> None:
        """Close all connections at the end of the run."""
        for connection in self._open.values():
            connection.socket.close()
        self._open.clear()
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _read(self, number: int, connection: Connection) -> None:
        try:
            data = connection.socket.recv(min(PIECE, connection.credit))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            connection.credit -= len(data)
            self._send(b"N", number, data)
        else:
            connection.tool_done = True
            self._send(b"X", number)
            self._settle(number, connection)

    def _write(self, number: int, connection: Connection) -> None:
        taken = 0
        try:
            while connection.unwritten and select.select([], [connection.socket], [], 0)[1]:
                sent = connection.socket.send(connection.unwritten)
                del connection.unwritten[:sent]
                taken += sent
        except BlockingIOError:
            pass
        except OSError:
            taken += len(connection.unwritten)
            connection.unwritten.clear()
            connection.broken = True
        self._report_taken(number, connection, taken)
        self._settle(number, connection)

    def _report_taken(self, number: int, connection: Connection, count: int) -> None:
        connection.taken += count
        if connection.taken >= REPORTED:
            self._send(b"K", number, struct.pack(">I", connection.taken))
            connection.taken = 0

    def _settle(self, number: int, connection: Connection) -> None:
        """Close a connection once the host has sent everything and all of it is written."""
        if connection.host_done and not connection.unwritten:
            if not connection.tool_done:
                self._send(b"X", number)
            connection.socket.close()
            self._open.pop(number, None)

    def _send(self, kind: bytes, number: int, data: bytes = b"") -> None:
        self._channel.send(kind, struct.pack(">I", number) + data)
