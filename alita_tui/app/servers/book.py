"""The MCP servers of this home: how each is stored, and the only way for their tools to join the library."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from alita_tui.app.identity import me, new_id, now
from alita_tui.app.logins import StoredLogin
from alita_tui.app.secrets import learned_first
from alita_tui.app.servers.package_folders import tidy
from alita_tui.events import Json, Lock, RunReport, ToolDraft, ToolRecord, Value, build_digest, ready
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.servers import NAME, Pinned, ServerSpec, pinned
from alita_tui.spine.text import counted, one_line

if TYPE_CHECKING:
    import httpx2

    from alita_tui.app.context import AppContext
    from alita_tui.mcp_box.remote.answering import AskPerson
    from alita_tui.mcp_box.remote.pinning import Listing
    from alita_tui.mcp_box.remote.servers import Servers, Tell
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.spine.address import AddressPolicy
    from alita_tui.spine.ports.models import Asker
    from alita_tui.view.risk import Risk

_LEGACY = ("2024", "2025")
"""Prefixes of the protocol revisions whose connections open with a handshake."""
_TYPED = "server"
"""Purpose of the signature of a server."""
RUNS = ("provisional", "trusted", "stale")


class KnownServer(Value, frozen=True):
    """A server, and what it listed when it was last looked at."""

    spec: ServerSpec
    lock: Lock = Lock()
    enabled: bool = True
    protocol: str = ""
    calls_itself: dict[str, str] = {}
    drafts: tuple[ToolDraft, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Tools that cannot be used, with the reason."""
    listed_at: str = ""
    """ISO 8601, UTC."""
    start_ms: float = 0.0
    signature: str = ""
    """This home's signature of the spec's digest, made when a person typed it, since anyone can write the document."""


class Offered(Value, frozen=True):
    """A tool of a server, compared with the approved version."""

    draft: ToolDraft
    state: Literal["new", "approved", "changed", "not yet"]
    problem: str = ""
    """Why it cannot be approved."""
    before: ToolRecord | None = None
    """Its approved version, if any."""


class ServerBook:
    """The stored servers. Implements the `Book` of running servers."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._documents = app.documents(app.paths.servers, "servers")
        self._read: tuple[tuple[Json, ...], tuple[KnownServer, ...]] = ((), ())

    def all(self) -> tuple[KnownServer, ...]:
        """Return every server by name; one that cannot be read is left out. Raise StoreError."""
        documents = self._documents.all()
        if self._read[0] is not documents:
            servers = []
            for document in documents:
                try:
                    servers.append(msgspec.convert(document, ready(KnownServer)))
                except msgspec.ValidationError:
                    continue
            self._read = (documents, tuple(sorted(servers, key=lambda server: server.spec.name)))
        return self._read[1]

    def get(self, name: str) -> KnownServer:
        """Return a server. Raise UsageError, StoreError."""
        for server in self.all():
            if server.spec.name == name:
                return server
        names = ", ".join(server.spec.name for server in self.all()) or "none"
        raise UsageError(f"There is no server {one_line(name, 40)}.", hint=f"There are: {names}.")

    def keep(self, server: KnownServer) -> None:
        """Add or replace a server. Raise UsageError, StoreError."""
        if not NAME.fullmatch(server.spec.name):
            raise UsageError(
                f"{one_line(server.spec.name, 40)!r} is not a name for a server.",
                hint="Use lower-case letters, digits and hyphens, 31 at most.",
            )
        self._documents.put(server.spec.name, msgspec.to_builtins(server))

    def switch(self, name: str, *, on: bool) -> None:
        """Let a server be used, or not. Raise UsageError, StoreError."""
        with self._documents.changing():
            self.keep(msgspec.structs.replace(self.get(name), enabled=on))

    def relisted(self, looked_at: KnownServer) -> None:
        """Store the tools that a server lists, and keep everything else as it is stored now.

        Raise UsageError if the server was replaced or removed meanwhile; StoreError.
        """
        with self._documents.changing():
            stored = self.get(looked_at.spec.name)
            if stored.spec != looked_at.spec:
                raise UsageError(f"The server {looked_at.spec.name} was replaced meanwhile.")
            own_fields = {name: getattr(stored, name) for name in ("enabled", "signature")}
            self.keep(msgspec.structs.replace(looked_at, **own_fields))

    def typed(self, server: KnownServer) -> KnownServer:
        """Return a server as the person typed it, signed. Raise StoreError."""
        return msgspec.structs.replace(server, signature=self._app.audit.signed(_TYPED, server.spec.digest))

    def check_typed(self, server: KnownServer) -> None:
        """Raise UsageError for a server that is not as the person typed it, so that it is not started."""
        if not self._app.audit.vouched(_TYPED, server.spec.digest, server.signature):
            name = server.spec.name
            raise UsageError(
                f"The server {name} is not as it was added: its document was changed, or is of an older alita.",
                hint=f"Look at it: alita mcp show {name}. Add it again with --replace, or: alita mcp remove {name}",
            )

    def put_in_place(self, server: KnownServer, *, replace: bool) -> tuple[str, ...]:
        """Store a server, and suspend approved tools of a previous server of its name; return their names.

        Raise UsageError if its name is taken and `replace` is not set; StoreError.
        """
        with self._documents.changing():
            if not replace:
                self.check_free(server.spec.name)
            before = [stored.spec.folder for stored in self.all() if stored.spec.name == server.spec.name]
            self.keep(server)
        self._tidy(*before)
        lineages, suspended = self._app.lineages("cli"), []
        for record in self.tools_of(server.spec.name):
            if record.state in RUNS and pinned(record.draft).server != server.spec:
                reason = f"the server {server.spec.name} was replaced"
                lineages.move(record.draft.name, "quarantine", record.version, by=me(), reason=reason)
                suspended.append(str(record.draft.name))
        return tuple(suspended)

    def check_free(self, name: str) -> None:
        """Raise UsageError if there is a server of this name."""
        if any(server.spec.name == name for server in self.all()):
            raise UsageError(
                f"There is a server {name} already.", hint="--replace replaces it, or choose another name."
            )

    def remove(self, name: str) -> tuple[str, ...]:
        """Remove a server and archive its tools; return their names. Raise UsageError, StoreError."""
        server = self.get(name)
        lineages, archived = self._app.lineages("cli"), []
        for record in self.tools_of(name):
            if record.state in RUNS:
                lineages.move(
                    record.draft.name,
                    "archive",
                    record.version,
                    by=me(),
                    reason=f"the server {name} was removed",
                )
                archived.append(str(record.draft.name))
        if server.spec.url:
            StoredLogin(self._app.paths.config / "logins", server.spec.url).forget()
        self._documents.remove(name)
        self._tidy(server.spec.folder)
        return tuple(archived)

    def _tidy(self, removed: str = "") -> None:
        tidy(self._app.paths.data, [server.spec.folder for server in self.all()], removed)

    def check(self, spec: ServerSpec) -> None:
        """Raise UsageError for a server that is switched off, or is not as a person typed it."""
        server = self.get(spec.name)
        if not server.enabled:
            raise UsageError(f"The server {spec.name} is switched off.", hint=f"alita mcp enable {spec.name}")
        self.check_typed(server)
        if server.spec != spec:
            raise UsageError(
                f"The server {spec.name} is another one than that of which the tool was approved.",
                hint=f"Look at it: alita mcp show {spec.name}",
            )

    def legacy(self, name: str) -> bool:
        """Return whether a server is known to open with a handshake, so that nothing else is tried first."""
        return any(server.protocol.startswith(_LEGACY) for server in self.all() if server.spec.name == name)

    def listed(self, spec: ServerSpec, listing: Listing, protocol: str) -> tuple[tuple[str, int, str], ...]:
        """Store what a server lists; suspend and return its changed tools, as `suspend_changed` does."""
        for server in self.all():
            if server.spec == spec:
                with suppress(UsageError):  # it was removed or replaced a moment ago
                    self.relisted(seen(server, listing, protocol, server.start_ms))
        return self.suspend_changed(seen(KnownServer(spec=spec), listing, protocol, 0.0))

    def suspend_changed(self, server: KnownServer) -> tuple[tuple[str, int, str], ...]:
        """Suspend approved tools of a server that it lists otherwise now; return name, version and reason of each."""
        refused = {tool: f"it cannot be used any more: {reason}" for tool, reason in server.refused}
        codes = {str(draft.name): draft.code for draft in server.drafts}
        suspended = []
        lineages = self._app.lineages("engine")
        for record in self.tools_of(server.spec.name):
            approved = pinned(record.draft)
            if record.state not in RUNS or approved.server != server.spec:
                continue
            if (code := codes.get(str(record.draft.name))) == record.draft.code:
                continue
            missing = refused.get(approved.tool_name, "it is gone from the server's list")
            reason = missing if code is None else what_changed(approved, code)
            lineages.move(record.draft.name, "quarantine", record.version, by="alita", reason=reason)
            suspended.append((str(record.draft.name), record.version, reason))
        return tuple(suspended)

    def tools_of(self, name: str) -> tuple[ToolRecord, ...]:
        """Return every version of a tool of this server that the library has, the newest of each name last."""
        library = self._app.library
        return tuple(
            record
            for tool in library.names()
            for record in library.versions(tool)
            if record.origin == "remote" and pinned(record.draft).server.name == name
        )

    def offered(self, server: KnownServer) -> tuple[Offered, ...]:
        """Return the tools that a server listed, each compared with its approved version."""
        return tuple(self._offer(draft, server) for draft in server.drafts)

    def _offer(self, draft: ToolDraft, server: KnownServer) -> Offered:
        library, lock = self._app.library, server.lock
        versions = library.versions(draft.name)
        server_name = pinned(draft).server.name
        if any(
            version.origin != "remote" or pinned(version.draft).server.name != server_name
            for version in versions
        ):
            return Offered(
                draft=draft, state="not yet", problem=f"another tool is called {draft.name} already"
            )
        digest = build_digest(draft, lock)
        if refused := library.banned(draft.name, draft, digest):
            return Offered(draft=draft, state="not yet", problem=refused)
        doubts = library.doubts()
        for version in versions:
            if (
                version.digest == digest
                and version.state in RUNS
                and (draft.name, version.version) not in doubts
            ):
                return Offered(draft=draft, state="approved", before=version)
        if not as_listed(draft, server.spec):
            problem = f"it is not what {server_name} listed; `alita mcp test {server_name}` lists anew"
            return Offered(draft=draft, state="not yet", problem=problem)
        return Offered(
            draft=draft, state="changed" if versions else "new", before=versions[-1] if versions else None
        )

    def reviewer(self) -> Callable[[ToolDraft], tuple[Risk, ...]]:
        """Return a function that lists the risks of a tool, given all other tools and servers known now."""
        from alita_tui.mcp_box.remote.review import Names, ServerNames, remote_risks
        from alita_tui.toolsmith.prompt_injection import addressed

        listed = (str(draft.name) for server in self.all() for draft in server.drafts)
        names = Names([*(str(record.draft.name) for record in self._app.library.records()), *listed])
        servers = ServerNames(
            (server.spec.name, server.calls_itself.get("name", "")) for server in self.all()
        )
        return lambda draft: remote_risks(draft, addressed, names, servers)

    def approve(
        self, draft: ToolDraft, lock: Lock, accepted: tuple[str, ...], *, unread: int = 0
    ) -> ToolRecord:
        """Enter the approval of a tool in the audit log and register it. Raise RegistryError, StoreError.

        `unread` is how many lines of it were never on screen.
        """
        from alita_tui.app.tool_runs import approve_anew

        descriptor = pinned(draft)
        if descriptor.server.lock != lock.digest:
            raise RegistryError(f"The wheels of {descriptor.server.name} are not those that its tools name.")
        evidence = (
            f"server {descriptor.server.name}, {descriptor.server.where}, identity {descriptor.server.digest[:16]}",
            *(f"△ {risk.name}: {risk.text}" for risk in self.reviewer()(draft)),
            *((f"accepted: {', '.join(accepted)}",) if accepted else ()),
            *((f"approved with {counted(unread, 'line')} unread",) if unread else ()),
        )
        reason = f"{one_line(descriptor.tool_name, 80)} of the server {descriptor.server.name}"
        return approve_anew(self._app, draft, lock, origin="remote", reason=reason, evidence=evidence)


def as_listed(draft: ToolDraft, spec: ServerSpec) -> bool:
    """Return whether a draft is, in all its parts, what this server's descriptor results in."""
    from alita_tui.mcp_box.remote.pinning import listing

    descriptor = pinned(draft)
    return descriptor.server == spec and listing(
        spec, descriptor.calls_itself, (descriptor.tool,)
    ).drafts == (draft,)


def seen(server: KnownServer, listing: Listing, protocol: str, start_ms: float) -> KnownServer:
    """Return a server with the tools that it lists now."""
    return msgspec.structs.replace(
        server,
        protocol=protocol,
        calls_itself=listing.calls_itself,
        drafts=listing.drafts,
        refused=tuple((tool.name, tool.reason) for tool in listing.refused),
        listed_at=now().isoformat(),
        start_ms=start_ms,
    )


def what_changed(before: Pinned, code: str) -> str:
    """Return which parts of a tool have changed, in one line."""
    after = msgspec.json.decode(code.encode(), type=ready(Pinned))
    parts = sorted(key for key in {*before.tool, *after.tool} if before.tool.get(key) != after.tool.get(key))
    if before.calls_itself != after.calls_itself:
        claims = (" ".join(version.calls_itself.values()) for version in (before, after))
        parts.append(f"the server itself ({' → '.join(claims)})")
    return one_line(f"changed: {', '.join(parts) or 'how it is started'}", 300)


class LazyServers:
    """Implements `ServerCalls`; imports the SDK with the first call."""

    def __init__(
        self,
        app: AppContext,
        sandbox: Fleet,
        tell: Tell,
        redactor: Redactor,
        show: Show | None = None,
        *,
        asker: Asker | None = None,
        ask_person: AskPerson | None = None,
    ) -> None:
        """The redactor learns each secret before it is used. With `show` the person logs in if a server asks for it;
        otherwise only a stored login is used. `asker` and `ask_person` answer requests of servers that may ask.
        """
        self._asker = asker
        self._ask_person = ask_person
        self._app = app
        self._redactor = redactor
        self._secret = learned_first(redactor, app.secret)
        self._sandbox = sandbox
        self._tell = tell
        self._show = show
        self.logged_in = AsyncExitStack()
        """Holds the listeners of logins that wait for the person's browser."""
        self._servers: Servers | None = None
        self._making = asyncio.Lock()

    async def call(self, job: Job) -> RunReport:
        """Call the tool whose pinned descriptor is the job's code. Raise ServerUnavailable."""
        return await (await self.made()).call(job)

    async def close(self) -> None:
        """End every server that was started."""
        if self._servers is not None:
            await self._servers.close()

    async def made(self) -> Servers:
        """Return the servers in use."""
        async with self._making:
            if self._servers is None:
                self._servers = await asyncio.to_thread(self._make)
            return self._servers

    async def _login(self, spec: ServerSpec) -> httpx2.Auth:
        """Return the authentication for a server that asks for one."""
        from alita_tui.mcp_box.remote.oauth import login, quiet_login

        stored = StoredLogin(self._app.paths.config / "logins", spec.url)
        if self._show is None:
            return await quiet_login(spec.url, stored, stored.lock, spec.name, self._redactor.learn)
        return await self.logged_in.enter_async_context(
            login(spec.url, stored, stored.lock, self._show, self._policy(), self._redactor.learn)
        )

    def _policy(self) -> AddressPolicy:
        """Return the addresses that a login may use, the same as for pages. Raise ConfigError."""
        from alita_tui.spine.address import AddressPolicy
        from alita_tui.web.dns import system_resolver

        return AddressPolicy(system_resolver, self._app.loaded.settings.web.allowed_private)

    def _make(self) -> Servers:
        from alita_tui.mcp_box.remote.answering import Answering
        from alita_tui.mcp_box.remote.opening import Opener
        from alita_tui.mcp_box.remote.servers import Patience, Servers

        app, book = self._app, ServerBook(self._app)
        opener = Opener(
            self._sandbox, self._secret, book.legacy, app.limits, lambda *_: None, self._login, self._policy()
        )
        chosen = app.loaded.settings.mcp
        patience = Patience(
            connect_seconds=chosen.connect_seconds if self._show is None else 330.0,
            call_seconds=chosen.call_seconds,
            idle_seconds=60.0 * chosen.idle_minutes,
        )

        def answering(spec: ServerSpec) -> Answering:
            return Answering(
                spec, self._tell, new_id, asker=self._asker, ask_person=self._ask_person,
                holds_secret=self._redactor.holds,
            )  # fmt: skip

        return Servers(opener, book, self._tell, new_id, patience, self._redactor.holds, answering)


Show = Callable[[str], Awaitable[None]]
"""Shows the person an address to open in a browser."""
