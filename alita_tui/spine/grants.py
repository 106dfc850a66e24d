"""How a tool's capabilities are read, for the contract, the approval and the broker alike. Pure.

A host is written `name:port`, or `GET,HEAD name:port` where only these methods are granted. A secret is written
`NAME@name:port`, or `NAME` alone where one host is granted: it goes to that host and nowhere else. A tool is written
`NAME` in a draft. When it is built that becomes `NAME@VERSION:DIGEST`, followed by ` may ` and what a run of it may use
itself, by way of further tools included, in words of `Capabilities.items` with `; ` between them.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from alita_tui.events import Capabilities, Value
from alita_tui.spine.text import one_line

_HOST = re.compile(r"(?:([A-Z]+(?:,[A-Z]+)*) )?([A-Za-z0-9][A-Za-z0-9.-]*):(\d{1,5})", re.ASCII)
_SECRET = re.compile(r"([A-Za-z_]\w{0,63})(?:@(\S+))?", re.ASCII)
_TOOL = re.compile(r"([a-z][a-z0-9_]{0,63})@(\d{1,9}):([0-9a-f]{12,64})(?: may (.+))?", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""HTTP methods that a grant can be limited to; the broker passes on no others."""


ON_HOST = "host:all"
"""Addition to `Capabilities.items`: the item of a tool whose server runs on this machine."""
BROKER = "ALITA_BROKER"
"""The environment variable with the broker's address."""
FILES = "/files/"
MODEL = "/model"
TOOLS = "/tools/"
PAGE = "/page"
"""The broker's own paths; at the last one a browser's launcher tells what pages write to their consoles."""
BROWSER = "ALITA_BROWSER"
"""The environment variable with the path of the browser, if it is granted."""
BROWSER_TRUST = "ALITA_BROWSER_TRUST"
"""The environment variable with the fingerprint of the broker's authority, where TLS ends at the broker."""
DEEPEST_CALL = 3
"""How deep calls of tools by tools may be nested; the agent's own call has depth 0."""
MOST_TOOL_CALLS = 20
"""Maximum number of calls of tools by tools, at any depth, during one call of the agent."""
REACHED: dict[str, str] = {
    "network": "hosts as `name:port`, or limited to methods, as in `GET,HEAD api.example.org:443`. "
    "Any HTTP client works as usual.",
    "workspace": "`read` or `write` for the person's workspace files. "
    f"GET os.environ['{BROKER}'] + '{FILES}NAME' reads a file, PUT writes a whole file, "
    f"GET '{FILES}' lists the names as JSON.",
    "secrets": "names as `NAME@host:port`, or `NAME` if only one host is granted. "
    "os.environ['NAME'] stands for the value in headers, queries, forms and JSON of https requests to that host.",
    "model_calls": f"how many calls a run may make: POST {{'prompt': TEXT}} as JSON to {BROKER} + '{MODEL}' returns "
    "{'text': TEXT}.",
    "tools": f"approved tools by name. POST arguments as JSON to {BROKER} + '{TOOLS}NAME' returns the result as JSON.",
}
"""How a tool reaches what it is granted, by the field of its capabilities, as models are told."""
_BROWSER_REACHED = "`true` for pages that need scripts: Chromium, which loads from the granted hosts."
"""The entry of `REACHED` for a browser, added where the person allows one."""


BROWSER_OFF = "`alita config set sandbox.browser true` allows one."
"""How to allow a browser; shown to models and people where one is missing."""


def offered(*, browser: bool) -> dict[str, str]:
    """Return what a model may ask for, and how a tool reaches it, by the field of its capabilities."""
    return {**REACHED, "browser": _BROWSER_REACHED} if browser else REACHED


class _Words(NamedTuple):
    """How hosts and files are called."""

    host: str
    methods: str
    files: dict[str, str]


_PLAIN = _Words(
    host="network access to {}",
    methods=", {} requests only",
    files={
        "read": "read access to the files in the workspace",
        "write": "read and write access to the files in the workspace",
    },
)
_SERVED = _Words(
    host="the network host {}",
    methods=", {} only",
    files={"read": "the workspace, to read", "write": "the workspace, to read and write"},
)


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


class ToolGrant(Value, frozen=True):
    """One tool that a tool may call."""

    name: str
    version: int
    digest: str
    """The digest of its build; only a prefix if it was read from an item of `Capabilities.items`."""
    may: tuple[str, ...] = ()
    """What a run of it may use itself, in words of `Capabilities.items`."""

    @property
    def text(self) -> str:
        """Return the grant as it is stored."""
        may = f" may {'; '.join(self.may)}" if self.may else ""
        return f"{self.name}@{self.version}:{self.digest}{may}"

    @property
    def uses(self) -> str:
        """Return in words what the tool may use itself; empty for nothing."""
        return self.uses_in(_PLAIN)

    def uses_in(self, words: _Words) -> str:
        """Return the same in these words."""
        further = _of_items(self.may)
        tools = (f"the tool {grant.label}" for grant in tool_grants(further))
        host = ("ALL YOUR RIGHTS on this machine, outside of the sandbox",) if ON_HOST in self.may else ()
        return " + ".join((*host, *_phrases(msgspec.structs.replace(further, tools=()), words), *tools))

    @property
    def label(self) -> str:
        """Return the tool's name and version as people read it."""
        return f"{self.name} v{self.version} ({self.digest[:12]})"


def tool_grants(capabilities: Capabilities) -> tuple[ToolGrant, ...]:
    """Return the tools that are pinned; an entry that cannot be read, or is not pinned, grants nothing."""
    return tuple(grant for entry in capabilities.tools if (grant := _tool(entry)) is not None)


def named_tools(capabilities: Capabilities) -> tuple[str, ...]:
    """Return the names of the tools, pinned or not."""
    return tuple(dict.fromkeys(entry.partition("@")[0] for entry in capabilities.tools))


def used_by(granted: Capabilities) -> tuple[str, ...]:
    """Return what a tool with these grants may use, by way of the tools that it calls included."""
    hosts = list(host_grants(granted))
    sent = tuple("@".join(_home(entry, hosts)) for entry in granted.secrets)
    granted_items = msgspec.structs.replace(granted, secrets=sent).items
    return tuple(
        dict.fromkeys((*granted_items, *(item for grant in tool_grants(granted) for item in grant.may)))
    )


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
    problems += [
        f"capabilities.tools: {one_line(entry, 80)!r} is not the name of a tool"
        for entry in capabilities.tools
        if not _NAME.fullmatch(entry) and _tool(entry) is None
    ]
    if capabilities.browser and capabilities.brokered:
        problems.append(
            "capabilities.browser: it goes with hosts and secrets alone; a page could reach for files, models and tools"
        )
    return tuple(problems)


def canonical(capabilities: Capabilities) -> Capabilities:
    """Return the same grants in the form that is shown: hosts in lower case, each entry once, sorted."""
    hosts = (_host(entry) for entry in capabilities.network)
    return msgspec.structs.replace(
        capabilities,
        network=tuple(sorted({grant.text for grant in hosts if grant is not None})),
        secrets=tuple(sorted({_lowered(entry) for entry in capabilities.secrets})),
        tools=tuple(sorted(set(capabilities.tools))),
    )


def repeatable(capabilities: Capabilities) -> bool:
    """Return whether a second run changes nothing more: by its grants the tool can only read.

    A host without named methods may be sent anything; a model call costs money; a tool that is called may do more.
    """
    looks = all(
        grant.methods and set(grant.methods) <= {"GET", "HEAD"} for grant in host_grants(capabilities)
    )
    costs = capabilities.model_calls or capabilities.tools
    return looks and capabilities.workspace != "write" and not costs


def secret_names(capabilities: Capabilities) -> tuple[str, ...]:
    """Return the names of the secrets."""
    names = (_home(entry, [])[0] for entry in capabilities.secrets)
    return tuple(dict.fromkeys(name for name in names if name))


def phrases(capabilities: Capabilities) -> tuple[str, ...]:
    """Return one phrase for people per grant that is requested; none for a pure computation."""
    return _phrases(capabilities, _PLAIN)


def served_phrases(capabilities: Capabilities) -> tuple[str, ...]:
    """Return the same in the words of tools that are served over MCP.

    They are part of a served tool's description. A client that approved the tool takes other words for a change of it.
    """
    return _phrases(capabilities, _SERVED)


def _phrases(capabilities: Capabilities, words: _Words) -> tuple[str, ...]:
    hosts = host_grants(capabilities)
    parts = []
    for entry in capabilities.network:
        grant = _host(entry)
        if grant is None:
            parts.append(f"nothing for {entry!r}, which is not a host")
        else:
            only = words.methods.format(" and ".join(grant.methods)) if grant.methods else ""
            parts.append(words.host.format(grant.where) + only)
    if capabilities.workspace != "none":
        parts.append(words.files[capabilities.workspace])
    for entry in capabilities.secrets:
        name, home = _home(entry, list(hosts))
        parts.append(f"the secret {name or entry}, sent to {home or 'no host'} alone")
    if capabilities.model_calls:
        calls = "call" if capabilities.model_calls == 1 else "calls"
        parts.append(f"{capabilities.model_calls} model {calls} a run")
    if capabilities.browser:
        pages = "the granted hosts" if hosts else "no host"
        parts.append(
            f"a browser without a sandbox of its own, inside the tool's container; it loads from {pages} alone, "
            "and runs what scripts pages have"
        )
    for entry in capabilities.tools:
        tool = _tool(entry)
        reach = f"which may itself use {tool.uses_in(words)}" if tool and tool.may else "which only computes"
        parts.append(f"the tool {tool.label}, {reach}" if tool is not None else f"the tool {entry}")
    return tuple(parts)


def _host(entry: str) -> HostGrant | None:
    match = _HOST.fullmatch(entry)
    if match is None or not 0 < int(match[3]) < 65536:
        return None
    methods = tuple(match[1].split(",")) if match[1] else ()
    if any(method not in METHODS for method in methods):
        return None
    return HostGrant(host=match[2].lower().rstrip("."), port=int(match[3]), methods=methods)


def _tool(entry: str) -> ToolGrant | None:
    match = _TOOL.fullmatch(entry)
    if match is None:
        return None
    may = tuple(match[4].split("; ")) if match[4] else ()
    return ToolGrant(name=match[1], version=int(match[2]), digest=match[3], may=may)


def _of_items(items: tuple[str, ...]) -> Capabilities:
    """Return the capabilities that these items name; of several of a kind, the widest."""
    split = [item.partition(":") for item in items]
    values: dict[str, tuple[str, ...]] = {
        kind: tuple(value for prefix, _, value in split if prefix == kind)
        for kind in ("network", "workspace", "secret", "model", "browser", "tool")
    }
    reach: dict[bool, Literal["none", "read", "write"]] = {True: "write", False: "read"}
    calls = [int(value) for value in values["model"] if value.isascii() and value.isdigit()]
    return Capabilities(
        network=values["network"],
        workspace=reach["write" in values["workspace"]] if values["workspace"] else "none",
        secrets=values["secret"],
        model_calls=max(calls, default=0),
        tools=values["tool"],
        browser=bool(values["browser"]),
    )


def _lowered(entry: str) -> str:
    name, at, where = entry.partition("@")
    return name + at + where.lower()


def _home(entry: str, hosts: list[HostGrant]) -> tuple[str, str]:
    """Return a secret's name and the one host that it is sent to; each is empty if there is none."""
    match = _SECRET.fullmatch(entry)
    if match is None:
        return "", ""
    wheres = [grant.where for grant in hosts]
    if match[2] is None:
        return match[1], wheres[0] if len(wheres) == 1 else ""
    return match[1], match[2].lower() if match[2].lower() in wheres else ""
