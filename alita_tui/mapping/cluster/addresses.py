"""Addresses of a cluster: TLS or none, and no address that means every network."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

PORT = 8786
"""The default port of a scheduler."""


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def bind(self) -> str:
        """Return the host as Dask takes it to listen at. Raise UsageError for one that means every network."""
        try:
            every = ip_address(self.host).is_unspecified
        except ValueError:
            every = self.host in ("", "*")
        if every:
            raise UsageError(
                f"{self.host or 'Nothing'} is not a single address of this machine.",
                hint="Name the one in the cluster's network.",
            )
        return f"tls://{self._bracketed}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def __str__(self) -> str:
        return f"tls://{self._bracketed}:{self.port}"


def address(text: str) -> Address:
    """Return the address of a scheduler. Raise UsageError."""
    try:
        read = urlsplit(text)
        host, port = read.hostname or "", PORT if read.port is None else read.port
    except ValueError:
        host = ""
    if not host or read.scheme != "tls" or read.path or read.query or read.fragment or "@" in read.netloc:
        raise UsageError(
            f"{one_line(text, 80)} is not an address of a cluster.",
            hint="Write tls://HOST:PORT; nothing goes without TLS.",
        )
    return Address(host, port)
