"""The operating system's DNS look-up."""

from __future__ import annotations

import asyncio
import socket


async def system_resolver(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host, best first. Raise OSError."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))
