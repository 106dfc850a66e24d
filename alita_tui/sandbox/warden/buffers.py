"""Measures the memory that the kernel holds for the container's sockets; it counts for no process. See sock_diag(7)."""

from __future__ import annotations

import _socket
import struct
from collections.abc import Iterator

NETLINK, DIAGNOSIS = 16, 4
DUMP, END, FAILED = 20, 3, 2
"""Types of messages: SOCK_DIAG_BY_FAMILY, NLMSG_DONE, NLMSG_ERROR."""
LARGEST_BUFFERS = 16 << 20
"""More than the buffers of one socket can grow to."""
UNSEEN_BYTES = 2 * 212_992
"""Bytes that a local socket may hold from a peer that has closed, and that the kernel counts for neither."""
INET = tuple((family, protocol) for family in (2, 10) for protocol in (6, 17))


class Buffers:
    """Requests the figures from the kernel, which only the warden may do."""

    def __init__(self) -> None:
        self._netlink_socket: _socket.socket | None = None
        self.silent = False
        """True where the kernel does not answer."""

    def bytes_held(self, room: int) -> int:
        """Return the bytes in the buffers of all sockets; 0 for so few sockets that they fit into `room` anyway."""
        if self.silent or used() * LARGEST_BUFFERS < room:
            return 0
        try:
            if self._netlink_socket is None:
                self._netlink_socket = _socket.socket(
                    NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, DIAGNOSIS
                )
                self._netlink_socket.settimeout(1.0)
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
            peerless = not any(attributes.get(2, b""))  # its peer, by number
            if peerless and struct.unpack("=II", attributes.get(4, bytes(8)))[0]:
                total += UNSEEN_BYTES
        return total

    def _netlink(self) -> int:
        try:
            request = struct.pack("=BBxxIIII", 16, 255, 0, 1, 0, 0)
            return sum(charged(attributes.get(0)) for attributes in self._ask(request, 28))
        except OSError:  # a kernel without that module
            return 0

    def _ask(self, request: bytes, header_size: int) -> Iterator[dict[int, bytes]]:
        """Yield the attributes of each socket by number; `head` is the size of what precedes them."""
        assert self._netlink_socket is not None
        self._netlink_socket.send(struct.pack("=IHHII", 16 + len(request), DUMP, 0x301, 1, 0) + request)
        while True:
            answer = self._netlink_socket.recv(1 << 18)
            offset = 0
            while offset < len(answer):
                size, kind = struct.unpack_from("=IH", answer, offset)
                if kind == END:
                    return
                if kind == FAILED:
                    raise OSError(
                        -struct.unpack_from("=i", answer, offset + 16)[0], "the kernel refuses to answer"
                    )
                yield _attributes(answer[offset + 16 + header_size : offset + size])
                offset += (size + 3) & ~3


def _attributes(data: bytes) -> dict[int, bytes]:
    attributes: dict[int, bytes] = {}
    offset = 0
    while offset + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, offset)
        attributes[kind & 0x3FFF] = data[offset + 4 : offset + size]
        offset += max((size + 3) & ~3, 4)
    return attributes


def charged(figures: bytes | None) -> int:
    """Return the bytes of one socket: received, sent and unsent, reserved, options and backlog."""
    if figures is None or len(figures) < 32:
        return 0
    received, _, sent, _, reserved, unsent, options, backlog = struct.unpack_from("=8I", figures)
    return int(received + max(sent, unsent) + reserved + options + backlog)


def used() -> int:
    """Return the number of sockets in the container."""
    try:
        with open("/proc/net/sockstat") as lines:
            return int(lines.readline().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
