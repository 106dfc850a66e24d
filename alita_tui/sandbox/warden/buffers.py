"""Memory that the kernel holds for the container's sockets, which no process's own figures show. sock_diag(7)"""

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
"""What a local socket may hold of a peer that has closed, for which nobody is charged."""
INET = tuple((family, protocol) for family in (2, 10) for protocol in (6, 17))


class Buffers:
    """Asks the kernel, as only the warden may."""

    def __init__(self) -> None:
        self._line: _socket.socket | None = None
        self.silent = False
        """True where the kernel does not answer."""

    def held(self, room: int) -> int:
        """Return the bytes in all sockets' buffers; 0 where there are so few that they fit into `room` anyway."""
        if self.silent or used() * LARGEST < room:
            return 0
        try:
            if self._line is None:
                self._line = _socket.socket(NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, DIAGNOSIS)
                self._line.settimeout(1.0)
            return sum(self._internet(*kind) for kind in INET) + self._local() + self._netlink()
        except OSError:
            self.silent = True
            return 0

    def _internet(self, family: int, protocol: int) -> int:
        request = struct.pack("=BBBxI48x", family, protocol, 1 << 6, 0xFFFFFFFF)  # INET_DIAG_SKMEMINFO
        return sum(charged(attributes.get(7)) for attributes in self._ask(request, 72))

    def _local(self) -> int:
        request = struct.pack("=BxxxIIIII", 1, 0xFFFFFFFF, 0, 0x34, 0, 0)  # UDIAG_SHOW_PEER, _RQLEN, _MEMINFO
        total = 0
        for attributes in self._ask(request, 16):
            total += charged(attributes.get(5))
            alone = not any(attributes.get(2, b""))  # its peer, by number
            if alone and struct.unpack("=II", attributes.get(4, bytes(8)))[0]:
                total += UNSEEN
        return total

    def _netlink(self) -> int:
        try:
            request = struct.pack("=BBxxIIII", 16, 255, 0, 1, 0, 0)
            return sum(charged(attributes.get(0)) for attributes in self._ask(request, 28))
        except OSError:  # a kernel without that module
            return 0

    def _ask(self, request: bytes, head: int) -> Iterator[dict[int, bytes]]:
        """Yield the attributes of each socket by number; `head` is the size of what precedes them."""
        assert self._line is not None
        self._line.send(struct.pack("=IHHII", 16 + len(request), DUMP, 0x301, 1, 0) + request)
        while True:
            answer = self._line.recv(1 << 18)
            at = 0
            while at < len(answer):
                size, kind = struct.unpack_from("=IH", answer, at)
                if kind == END:
                    return
                if kind == FAILED:
                    raise OSError(
                        -struct.unpack_from("=i", answer, at + 16)[0], "the kernel refuses to answer"
                    )
                yield _attributes(answer[at + 16 + head : at + size])
                at += (size + 3) & ~3


def _attributes(data: bytes) -> dict[int, bytes]:
    attributes: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        attributes[kind & 0x3FFF] = data[at + 4 : at + size]
        at += max((size + 3) & ~3, 4)
    return attributes


def charged(figures: bytes | None) -> int:
    """Return the bytes of one socket: received, sent and unsent, reserved, options and backlog."""
    if figures is None or len(figures) < 32:
        return 0
    received, _, sent, _, aside, unsent, options, waiting = struct.unpack_from("=8I", figures)
    return int(received + max(sent, unsent) + aside + options + waiting)


def used() -> int:
    """Return the number of sockets in the container."""
    try:
        with open("/proc/net/sockstat") as lines:
            return int(lines.readline().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
