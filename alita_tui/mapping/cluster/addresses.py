"""Addresses of a cluster: always with TLS, and never one that means all networks."""

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
        """The host in Dask's form for listening. Raises UsageError for a host that means all networks."""
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
    """Return the parsed address of a scheduler. Raises UsageError."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", PORT if parts.port is None else parts.port
    except ValueError:
        host = ""
    if (
        not host
        or parts.scheme != "tls"
        or parts.path
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise UsageError(
            f"{one_line(text, 80)} is not an address of a cluster.",
            hint="Write tls://HOST:PORT; nothing goes without TLS.",
        )
    return Address(host, port)
