"""The channel as the warden holds it: frames of 4 bytes length (big endian), 1 byte type, payload."""

from __future__ import annotations

import os
import select
import struct
import time


class Line:
    """Both directions of the channel. When it is closed, the container has no reason to be."""

    def __init__(self) -> None:
        self._came = bytearray()
        os.set_blocking(1, False)

    def send(self, kind: bytes, payload: bytes) -> None:
        """Write one frame to the host.

        Meanwhile what the host sends is taken in: between the two lies a relay that does one thing at
        a time, and each side would wait for the other.
        """
        data = memoryview(struct.pack(">I", len(payload)) + kind + payload)
        while data:
            ready, writable, _ = select.select([0], [1], [])
            if ready:
                self.listen()
            if writable:
                data = data[os.write(1, data) :]

    def listen(self) -> None:
        """Take in what there is to read, or end when the channel is closed."""
        piece = os.read(0, 1 << 18)
        if not piece:
            os._exit(0)
        self._came += piece

    def waits(self, seconds: float | None) -> bool:
        """True as soon as the host has said something, false when it has not by then (None: waits for ever)."""
        return bool(self._came) or bool(select.select([0], [], [], seconds)[0])

    def take(self) -> tuple[bytes, bytes] | None:
        """The next whole frame of what came, or None."""
        if len(self._came) < 5:
            return None
        end = 5 + int(struct.unpack(">I", self._came[:4])[0])
        if len(self._came) < end:
            return None
        kind, payload = bytes(self._came[4:5]), bytes(self._came[5:end])
        del self._came[:end]
        return kind, payload

    def receive(self) -> tuple[bytes, bytes]:
        """The next frame from the host, waited for."""
        while True:
            found = self.take()
            if found is not None:
                return found
            self.listen()

    def stay(self, seconds: float | None = None) -> None:
        """Wait for the host to close the channel, or so long.

        It may have more to say to a run that has just ended, and a write to a line that nobody holds
        any more would cost it what it has not read yet.
        """
        until = None if seconds is None else time.monotonic() + seconds
        self._came.clear()
        while self.waits(until and max(until - time.monotonic(), 0.0)):
            self.listen()
            self._came.clear()
