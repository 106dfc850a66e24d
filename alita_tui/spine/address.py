"""Which addresses may be connected to, so that nothing foreign reaches into the local network (SSRF). Pure.

A name is resolved once, by the resolver that is passed in; all its addresses must be public, and the caller
connects to exactly these, so a later answer of the DNS (rebinding) changes nothing. Registries of special
addresses: RFC 6890 and its IANA lists; IPv6 outside 2000::/3 is not assigned (RFC 4291).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from alita_tui.spine.errors import AddressRefused, ConfigError, WebError
from alita_tui.spine.text import one_line

Resolver = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Turns host and port into IP addresses, best first. Raises OSError."""

_UNICAST6 = IPv6Network("2000::/3")
# Versions of Python disagree about these, so they are named: protocol assignments with Teredo,
# 6to4 and its relays, documentation.
_SPECIAL6 = tuple(map(IPv6Network, ("2001::/23", "2002::/16", "3fff::/20")))
_SPECIAL4 = tuple(map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24")))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether this is an ordinary address of the public internet.

    Addresses with an IPv4 address inside (mapped, NAT64, 6to4, Teredo) are not: where they lead is decided elsewhere.
    """
    if isinstance(address, IPv6Address):
        if address not in _UNICAST6 or any(address in net for net in _SPECIAL6):
            return False
    elif any(address in net for net in _SPECIAL4):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host spells, or None for a name.

    Raise AddressRefused for spellings that only some programs read as an address, such as
    `2130706433`, `0x7f.1` or `0177.0.0.1` (a name whose last label is a number: WHATWG URL, 3.5).
    """
    try:
        return ip_address(host)
    except ValueError:
        label = host.rsplit(".", 1)[-1]
    if label.isdigit() or (label[:2] == "0x" and all(c in "0123456789abcdef" for c in label[2:])):
        raise AddressRefused(
            f"{one_line(host, 80)} is an unusual spelling of an address and was not contacted.",
            hint="Write the host as a name or as a plain dotted address.",
        )
    return None


def host_key(host: str) -> str:
    """Return a host in the form in which hosts are compared."""
    return host.strip("[]").rstrip(".").lower()


class AddressPolicy:
    """Decides about every host before a connection.

    `allowed` lists private hosts as host, host:port or CIDR; `setting` is the setting that the list comes from.
    Raises ConfigError for a wrong entry.
    """

    def __init__(
        self,
        resolver: Resolver,
        allowed: Iterable[str] = (),
        *,
        setting: str = "web.allowed_private",
    ) -> None:
        self._resolve = resolver
        self._setting = setting
        self._hosts: set[tuple[str, int]] = set()
        self._networks: list[IPv4Network | IPv6Network] = []
        for entry in allowed:
            self._allow(entry.strip())

    def _allow(self, entry: str) -> None:
        try:
            if "/" in entry:
                self._networks.append(ip_network(entry, strict=False))
                return
            host, port = _split(entry)
        except ValueError as error:
            raise ConfigError(
                f"{self._setting} has an entry that is not a host, host:port or network: {one_line(entry, 80)!r}.",
                hint='Write for example "intranet.example", "127.0.0.1:8080" or "10.0.0.0/8".',
            ) from error
        self._hosts.add((host, port))

    async def check(
        self,
        host: str,
        port: int,
        *,
        trusted: frozenset[tuple[str, int]] = frozenset(),
        proxied: bool = False,
    ) -> tuple[str, ...]:
        """Return the addresses that may be connected to for this host, best first.

        `trusted` hosts (host, port) come from the settings and may be private. With `proxied` the proxy resolves
        names, so one without an address here passes with an empty answer; literals and names that are private
        here are refused all the same. Raise AddressRefused, or WebError when the name has no address.
        """
        name = host_key(host)
        spelled = literal(name)
        if spelled is not None:
            name = str(spelled)
            addresses: tuple[str, ...] = (name,)
        else:
            try:
                addresses = await self._resolve(name, port)
            except (OSError, UnicodeError) as error:
                if proxied:
                    return ()
                raise _unresolved(name) from error
            if not addresses:
                raise _unresolved(name)
        listed = {(name, port), (name, 0)}
        if listed & self._hosts or (name, port) in trusted:
            return addresses
        for address in addresses:
            self._require_public(name, port, address)
        return addresses

    def _require_public(self, name: str, port: int, address: str) -> None:
        parsed = ip_address(address.split("%", 1)[0])
        if is_public(parsed) or any(parsed in net for net in self._networks):
            return
        where = name if name == address else f"{name} ({address})"
        entry = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        raise AddressRefused(
            f"{where} is not a public address and was not contacted.",
            hint=f'If this is meant, add "{entry}" to {self._setting} in the settings.',
        )


def _split(entry: str) -> tuple[str, int]:
    """Return host and port of an entry; port 0 means any. Raise ValueError."""
    try:
        return str(ip_address(entry.strip("[]"))), 0
    except ValueError:
        host, colon, port = entry.rpartition(":")
    if not colon:
        host, port = entry, "0"
    elif not 0 < int(port) < 65536:
        raise ValueError(port)
    host = host_key(host)
    if ":" in host:
        host = str(ip_address(host))
    if not host or any(char.isspace() or char in "/@*" for char in host):
        raise ValueError(entry)
    return host, int(port)


def _unresolved(name: str) -> WebError:
    return WebError(
        f"{one_line(name, 80)} has no address.", hint="Check the spelling and the network connection."
    )
