"""How a tool's capabilities are read, for the contract, the approval and the broker alike. Pure.

A host is written `name:port`, or `GET,HEAD name:port` where only these methods are granted. A secret is written
`NAME@name:port`, or `NAME` alone where one host is granted: it goes to that host and nowhere else.
"""

from __future__ import annotations

import re

import msgspec

from alita_tui.events import Capabilities, Value
from alita_tui.spine.text import one_line

_HOST = re.compile(r"(?:([A-Z]+(?:,[A-Z]+)*) )?([A-Za-z0-9][A-Za-z0-9.-]*):(\d{1,5})", re.ASCII)
_SECRET = re.compile(r"([A-Za-z_]\w{0,63})(?:@(\S+))?", re.ASCII)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""What a grant may be limited to; and all that is passed on."""


BROKER = "ALITA_BROKER"
"""The environment variable with the broker's address."""
FILES = "/files/"
MODEL = "/model"
"""The broker's own paths."""
REACHED: dict[str, str] = {
    "network": "hosts as `name:port`, or with methods, as `GET,HEAD api.example.org:443`. The tool uses urllib.request "
    "or any HTTP client as usual.",
    "workspace": "`read` or `write` for the person's workspace files. "
    f"GET os.environ['{BROKER}'] + '{FILES}NAME' reads one and PUT writes one whole, with urllib.request; "
    f"GET '{FILES}' lists the names as JSON.",
    "secrets": "names of secrets as `NAME@host:port`, or `NAME` where one host is granted. "
    "os.environ['NAME'] is a stand-in, replaced by the value in headers and queries of https requests to that host.",
    "model_calls": f"how many model calls a run may make: POST {{'prompt': TEXT}} as JSON to os.environ['{BROKER}'] + "
    f"'{MODEL}' answers {{'text': TEXT}}.",
}
"""How a tool reaches what it is granted, by the field of its capabilities, as models are told."""


class HostGrant(Value, frozen=True):
    """One host that a tool may talk to."""

    host: str
    """In lower case, without a final dot."""
    port: int
    methods: tuple[str, ...] = ()
    """Empty: any."""
    secrets: tuple[str, ...] = ()
    """Names of secrets that requests to it may carry."""

    @property
    def where(self) -> str:
        """Return `name:port`."""
        return f"{self.host}:{self.port}"

    @property
    def text(self) -> str:
        """Return the grant as a draft writes it."""
        return f"{','.join(self.methods)} {self.where}" if self.methods else self.where


def host_grants(capabilities: Capabilities) -> tuple[HostGrant, ...]:
    """Return the granted hosts; an entry that cannot be read grants nothing."""
    read = [grant for entry in capabilities.network if (grant := _host(entry)) is not None]
    homes = {name: home for entry in capabilities.secrets for name, home in (_home(entry, read),)}
    return tuple(
        HostGrant(
            host=grant.host,
            port=grant.port,
            methods=grant.methods,
            secrets=tuple(name for name, home in homes.items() if home == grant.where),
        )
        for grant in read
    )


def faults(capabilities: Capabilities) -> tuple[str, ...]:
    """Return what in the capabilities cannot be granted, one line each."""
    problems = [
        f"capabilities.network: {one_line(entry, 80)!r} is not host:port, or METHOD,METHOD host:port"
        for entry in capabilities.network
        if _host(entry) is None
    ]
    read = [grant for entry in capabilities.network if (grant := _host(entry)) is not None]
    for where in sorted(
        {grant.where for grant in read if sum(again.where == grant.where for again in read) > 1}
    ):
        problems.append(f"capabilities.network: {where} is there twice")
    for entry in capabilities.secrets:
        name, home = _home(entry, read)
        if not name:
            problems.append(f"capabilities.secrets: {one_line(entry, 80)!r} is not the name of a secret")
        elif not home:
            problems.append(
                f"capabilities.secrets: {one_line(entry, 80)!r} has to say which granted host it is sent to, "
                f"as {name}@host:port"
            )
    return tuple(problems)


def canonical(capabilities: Capabilities) -> Capabilities:
    """Return the same grants in the form that is shown: hosts in lower case, each entry once, sorted."""
    hosts = (_host(entry) for entry in capabilities.network)
    return msgspec.structs.replace(
        capabilities,
        network=tuple(sorted({grant.text for grant in hosts if grant is not None})),
        secrets=tuple(sorted({_lowered(entry) for entry in capabilities.secrets})),
    )


def repeatable(capabilities: Capabilities) -> bool:
    """Return whether a second run changes nothing more: by its grants the tool can only read.

    A host without named methods may be sent anything; a model call costs money.
    """
    looks = all(
        grant.methods and set(grant.methods) <= {"GET", "HEAD"} for grant in host_grants(capabilities)
    )
    return looks and capabilities.workspace != "write" and not capabilities.model_calls


def secret_names(capabilities: Capabilities) -> tuple[str, ...]:
    """Return the names of the secrets."""
    names = (_home(entry, [])[0] for entry in capabilities.secrets)
    return tuple(dict.fromkeys(name for name in names if name))


def phrases(capabilities: Capabilities) -> tuple[str, ...]:
    """Return one phrase for people per grant that is requested; none for a pure computation."""
    hosts = host_grants(capabilities)
    parts = []
    for entry in capabilities.network:
        grant = _host(entry)
        if grant is None:
            parts.append(f"nothing for {entry!r}, which is no host")
        else:
            only = f", {' and '.join(grant.methods)} only" if grant.methods else ""
            parts.append(f"the network host {grant.where}{only}")
    if capabilities.workspace != "none":
        how = "read" if capabilities.workspace == "read" else "read and write"
        parts.append(f"the workspace, to {how}")
    for entry in capabilities.secrets:
        name, home = _home(entry, list(hosts))
        parts.append(f"the secret {name or entry}, sent to {home or 'no host'} alone")
    if capabilities.model_calls:
        calls = "call" if capabilities.model_calls == 1 else "calls"
        parts.append(f"{capabilities.model_calls} model {calls} a run")
    return tuple(parts)


def _host(entry: str) -> HostGrant | None:
    match = _HOST.fullmatch(entry)
    if match is None or not 0 < int(match[3]) < 65536:
        return None
    methods = tuple(match[1].split(",")) if match[1] else ()
    if any(method not in METHODS for method in methods):
        return None
    return HostGrant(host=match[2].lower().rstrip("."), port=int(match[3]), methods=methods)


def _lowered(entry: str) -> str:
    name, at, where = entry.partition("@")
    return name + at + where.lower()


def _home(entry: str, hosts: list[HostGrant]) -> tuple[str, str]:
    """Return a secret's name and the one host that it goes to; each empty where there is none."""
    match = _SECRET.fullmatch(entry)
    if match is None:
        return "", ""
    wheres = [grant.where for grant in hosts]
    if match[2] is None:
        return match[1], wheres[0] if len(wheres) == 1 else ""
    return match[1], match[2].lower() if match[2].lower() in wheres else ""
