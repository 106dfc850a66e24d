"""What the kernel holds for the container's sockets: memory that no process's own figures show. sock_diag(7)"""

from __future__ import annotations

import _socket
import struct
from collections.abc import Iterator

NETLINK, DIAGNOSIS = 16, 4
DUMP, END, FAILED = 20, 3, 2
"""Types of messages: SOCK_DIAG_BY_FAMILY, NLMSG_DONE, NLMSG_ERROR."""
LARGEST = 16 << 20
"""More than the buffers of one socket can grow to."""
UNSEEN = 2 * 212_992
"""What a local socket may hold that its peer sent before it was closed: nobody is charged for that."""
INET = tuple((family, protocol) for family in (2, 10) for protocol in (6, 17))


class Buffers:
    """Asks the kernel, as the warden alone may."""

    def __init__(self) -> None:
        self._line: _socket.socket | None = None
        self.deaf = False
        """True where the kernel does not answer."""

    def held(self, room: int) -> int:
        """Bytes in the buffers of all sockets; 0 where there are so few that they fit into `room` anyway."""
        if self.deaf or used() * LARGEST < room:
            return 0
        try:
            if self._line is None:
                self._line = _socket.socket(NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, DIAGNOSIS)
                self._line.settimeout(1.0)
            return sum(self._internet(*one) for one in INET) + self._local() + self._netlink()
        except OSError:
            self.deaf = True
            return 0

    def _internet(self, family: int, protocol: int) -> int:
        asked = struct.pack("=BBBxI48x", family, protocol, 1 << 6, 0xFFFFFFFF)  # INET_DIAG_SKMEMINFO
        return sum(charged(attributes.get(7)) for _, attributes in self._ask(asked, 72))

    def _local(self) -> int:
        asked = struct.pack("=BxxxIIIII", 1, 0xFFFFFFFF, 0, 0x34, 0, 0)  # UDIAG_SHOW_PEER, _RQLEN, _MEMINFO
        total = 0
        for _, attributes in self._ask(asked, 16):
            total += charged(attributes.get(5))
            alone = not any(attributes.get(2, b""))  # its peer, by number
            if alone and struct.unpack("=II", attributes.get(4, bytes(8)))[0]:
                total += UNSEEN
        return total

    def _netlink(self) -> int:
        try:
            return sum(
                charged(one.get(0)) for _, one in self._ask(struct.pack("=BBxxIIII", 16, 255, 0, 1, 0, 0), 28)
            )
        except OSError:  # a kernel without that module
            return 0

    def _ask(self, asked: bytes, head: int) -> Iterator[tuple[bytes, dict[int, bytes]]]:
        """What is said of each socket: its head, and its attributes by number."""
        assert self._line is not None
        self._line.send(struct.pack("=IHHII", 16 + len(asked), DUMP, 0x301, 1, 0) + asked)
        while True:
            said = self._line.recv(1 << 18)
            at = 0
            while at < len(said):
                size, kind = struct.unpack_from("=IH", said, at)
                if kind == END:
                    return
                if kind == FAILED:
                    raise OSError(-struct.unpack_from("=i", said, at + 16)[0], "the kernel does not tell")
                yield said[at + 16 : at + 16 + head], _attributes(said[at + 16 + head : at + size])
                at += (size + 3) & ~3


def _attributes(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3FFF] = data[at + 4 : at + size]
        at += max((size + 3) & ~3, 4)
    return found


def charged(figures: bytes | None) -> int:
    """Bytes of one socket: received, sent and unsent, set aside, options and what waits to be sorted in."""
    if figures is None or len(figures) < 32:
        return 0
    received, _, sent, _, aside, unsent, options, waiting = struct.unpack_from("=8I", figures)
    return int(received + max(sent, unsent) + aside + options + waiting)


def used() -> int:
    """How many sockets there are in the container."""
    try:
        with open("/proc/net/sockstat") as lines:
            return int(lines.readline().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
