"""The warden's end of the channel: frames of 4 bytes length (big endian), 1 byte type, payload."""

from __future__ import annotations

import os
import select
import struct
import time


class Channel:
    """Both directions of the channel. When it closes, the container ends."""

    def __init__(self) -> None:
        self._received = bytearray()
        os.set_blocking(1, False)

    def send(self, kind: bytes, payload: bytes) -> None:
        """Write one frame to the host.

        Read meanwhile what the host sends: a relay in between moves data in one direction at a time, so each side
        could wait for the other.
        """
        data = memoryview(struct.pack(">I", len(payload)) + kind + payload)
        while data:
            ready, writable, _ = select.select([0], [1], [])
            if ready:
                self.listen()
            if writable:
                data = data[os.write(1, data) :]

    def listen(self) -> None:
        """Read the data that has arrived, or end the container when the channel is closed."""
        piece = os.read(0, 1 << 18)
        if not piece:
            os._exit(0)
        self._received += piece

    def waits(self, seconds: float | None) -> bool:
        """Return whether the host sends something within these seconds (None: wait for ever)."""
        return bool(self._received) or bool(select.select([0], [], [], seconds)[0])

    def take(self) -> tuple[bytes, bytes] | None:
        """Return the next whole frame received, or None."""
        if len(self._received) < 5:
            return None
        end = 5 + int(struct.unpack(">I", self._received[:4])[0])
        if len(self._received) < end:
            return None
        kind, payload = bytes(self._received[4:5]), bytes(self._received[5:end])
        del self._received[:end]
        return kind, payload

    def receive(self) -> tuple[bytes, bytes]:
        """Wait for the next frame from the host and return it."""
        while True:
            if (frame := self.take()) is not None:
                return frame
            self.listen()

    def stay(self, seconds: float | None = None) -> None:
        """Wait until the host closes the channel, or for `seconds`.

        The host may still write to a run that has just ended; if the channel were closed, it would lose the data that
        it has not read yet.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        self._received.clear()
        while self.waits(deadline and max(deadline - time.monotonic(), 0.0)):
            self.listen()
            self._received.clear()
