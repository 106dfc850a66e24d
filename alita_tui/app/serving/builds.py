"""Tools that clients request: built with evidence in sessions of their own, and decided by the person alone."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import recording
from alita_tui.app.session import LiveSession, open_file, open_session
from alita_tui.events import Capabilities, Value
from alita_tui.registry.stored import parsed_time, stored
from alita_tui.spine.commands import Improve, Interrupt
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, StoreLocked, UsageError
from alita_tui.spine.fence import defused
from alita_tui.spine.grants import faults
from alita_tui.spine.ports.builds import BuildOrder
from alita_tui.spine.ports.serving import BuildRequest, BuildStatus, Client
from alita_tui.spine.text import one_line
from alita_tui.store.sessions import SessionFile

_NAME = re.compile(r"[a-z][a-z0-9_]{2,47}")
_LOOK_SECONDS = 1.0
"""Seconds between two looks whether the person has decided."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_KEY = "asked:"
State = Literal["building", "waiting", "approved", "rejected", "failed"]


class RequestedBuild(Value, frozen=True):
    """A build that a client requested, and its state; stored beside the library's documents."""

    session_id: str
    name: str
    client: str
    at: str
    """ISO 8601, UTC."""
    state: State = "building"
    text: str = ""
    approval_id: str = ""
    """Id of the approval that the person decides on; empty while it is being built."""
    digest: str = ""
    """Digest of the tool that joined the library; empty before."""

    @property
    def ended(self) -> bool:
        """True once its state is final."""
        return self.state not in ("building", "waiting")

    @property
    def status(self) -> BuildStatus:
        """Its state as reported to the client."""
        return BuildStatus(build_id=self.session_id, name=self.name, state=self.state, text=self.text)


class RequestedBuilds:
    """The builds that clients requested. Verdicts are only read here, never given."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._running: dict[str, asyncio.Task[None]] = {}
        """The sessions of builds that this process has open."""
        self._watching: asyncio.Task[None] | None = None
        self._begin = asyncio.Lock()
        self._stamps: dict[str, tuple[object, ...]] = {}
        """Session -> the stamp of its record when it was last read."""
        self._tried: set[tuple[object, ...]] = set()

    def approved(self) -> frozenset[str]:
        """Return the digests of the tools that clients requested and the person approved. Block on the disk."""
        return frozenset(entry.digest for entry in self._all() if entry.digest)

    async def begin(self, client: Client, request: BuildRequest) -> BuildStatus:
        """Begin a build and return its handle at once. Raise UsageError, StoreError."""
        order = _order(f"The MCP client {client.name}", request)
        async with self._begin:
            entry, file = await asyncio.to_thread(self._take, client, request)
            if file is None:
                return entry.status
            try:
                session = await open_session(self._capped(), file, parks=True)
            except BaseException:
                file.close()
                self._app.tool_documents.remove(_KEY + entry.session_id)
                raise
        text = f"{client.name} asks over MCP for the tool {request.name}: {request.need}"
        session.send(Improve(proposal=f"mcp:{request.name}", text=str(one_line(text, 600)), order=order))
        self._run(session, entry)
        self.watch()
        return entry.status

    def _take(self, client: Client, request: BuildRequest) -> tuple[RequestedBuild, SessionFile | None]:
        """Return a new build with its session's file, or the unfinished build of that name and None.

        Of several processes that ask at once, no more succeed than may be built. Raise UsageError, StoreError.
        """
        with self._app.tool_documents.changing():
            for earlier in self._all():
                if earlier.name == request.name and not earlier.ended:
                    return earlier, None
            self._check(request)
            file = open_file(self._app, None)
            entry = RequestedBuild(
                session_id=file.session_id, name=request.name, client=client.name, at=now().isoformat(),
                text="It is being written and tested.",
            )  # fmt: skip
            self._store(entry)
            return entry, file

    def _check(self, request: BuildRequest) -> None:
        """Raise UsageError if no build may begin now."""
        if self._running:
            raise UsageError("Another tool is being built.", hint="Ask again when it waits for its verdict.")
        most = self._app.loaded.settings.mcp.builds_per_day
        if sum(now() - parsed_time(entry.at, _LONG_AGO) < timedelta(days=1) for entry in self._all()) >= most:
            raise UsageError(
                f"As many tools were asked for today as may be: {most}.",
                hint="The owner of this library can raise it: alita config set mcp.builds_per_day N",
            )
        if refused := self._app.library.banned(request.name):
            raise UsageError(refused)

    def _capped(self) -> AppContext:
        """Return a context whose budget for a build is the one for clients."""
        from alita_tui.config.load import load

        app, cap = self._app, str(self._app.loaded.settings.mcp.build_usd)
        if not float(cap):
            return app
        flags = {**app.flags, "budget.build_usd": cap, "budget.task_usd": cap}
        return AppContext(app.paths, load(app.paths, app.environ, flags), app.environ, flags)

    def _run(self, session: LiveSession, entry: RequestedBuild) -> None:
        """Run a session in the background until its build waits or is decided, and store the outcome."""

        async def run() -> None:
            try:
                await session.run(until_idle=True)
            finally:
                del self._running[entry.session_id]
                with suppress(AlitaError):  # the next look settles it
                    await asyncio.to_thread(self._settle, entry)

        task = self._running[entry.session_id] = asyncio.create_task(run())
        task.add_done_callback(lambda finished: finished.cancelled() or finished.exception())

    # --- the verdict ----------------------------------------------------------------------------

    def watch(self) -> None:
        """Go on with builds once the person has decided, until none waits."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while unfinished := [entry for entry in await asyncio.to_thread(self._all) if not entry.ended]:
            for entry in unfinished:
                with suppress(AlitaError):
                    await self._go_on(entry)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _go_on(self, entry: RequestedBuild) -> None:
        """Resume a session whose build was decided or interrupted; read what other processes did with it."""
        if entry.session_id in self._running:
            return
        stamp = await asyncio.to_thread(self._stamp, entry.session_id)
        if stamp != self._stamps.get(entry.session_id):
            entry = await asyncio.to_thread(self._settle, entry)
            self._stamps[entry.session_id] = stamp
        decided = None
        if entry.approval_id:
            decided = await asyncio.to_thread(self._app.inbox.verdict, entry.approval_id)
        if entry.ended or (entry.state == "waiting" and not decided) or stamp in self._tried:
            return
        with suppress(StoreLocked):  # another process continues it
            session = await open_session(self._capped(), entry.session_id, parks=True)
            self._tried.add(stamp)  # so that an attempt that changes nothing is not repeated forever
            self._run(session, entry)

    def _stamp(self, session_id: str) -> tuple[object, ...]:
        """Return a value that changes whenever a session's record changes."""
        path = self._app.sessions.path(session_id)
        beside = path.with_name(path.name + ".journal")
        stats = [file.stat() for file in (path, beside) if file.exists()]
        return (session_id, *((stat.st_mtime_ns, stat.st_size) for stat in stats))

    def status(self, build_id: str) -> BuildStatus:
        """Return how far a build is. Raise UsageError."""
        entry = next((candidate for candidate in self._all() if candidate.session_id == build_id), None)
        if entry is None:
            raise UsageError(f"No build {one_line(build_id, 60)} was asked for here.")
        if not entry.ended:
            entry = self._settle(entry)
        return entry.status

    def _settle(self, entry: RequestedBuild) -> RequestedBuild:
        """Store the state of a build as its session's record shows it, and return it. Raise StoreError."""
        try:
            settled = as_recorded(entry, recording(self._app, entry.session_id))
        except UsageError:
            settled = _with(entry, "failed", "Its record was removed.")
        if settled != entry:
            self._store(settled)
        return settled

    def _store(self, entry: RequestedBuild) -> None:
        self._app.tool_documents.put(_KEY + entry.session_id, {"asked": msgspec.to_builtins(entry)})

    def _all(self) -> tuple[RequestedBuild, ...]:
        return tuple(stored(self._app.tool_documents.all(), "asked", RequestedBuild))

    async def close(self) -> None:
        """Stop running builds; their sessions continue with `alita resume`, or when tools are served again."""
        tasks = [*self._running.values(), *((self._watching,) if self._watching else ())]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def as_recorded(entry: RequestedBuild, envelopes: Sequence[Envelope]) -> RequestedBuild:
    """Return the state of a build as its session's record shows it."""
    build = entry
    for envelope in envelopes:
        match envelope.event:
            case e.ApprovalRequested(approval_id=approval_id):
                words = (
                    "It was built and tested, and waits for the verdict of the person who owns this library."
                )
                build = _with(build, "waiting", words, approval_id=approval_id)
            case e.ApprovalResolved(verdict=verdict) if verdict.refuses:
                build = _with(build, "rejected", verdict.reason or "The person rejected it.")
            case e.ApprovalResolved(verdict=e.Verdict(decision="withdrawn", via="console" | "cli")):
                build = _with(build, "rejected", "The person withdrew it without a verdict.")
            case e.ToolRegistered(card=card, lasting="library"):
                words = f"{card.name} v{card.version} was approved, and can be called."
                build = _with(build, "approved", words, digest=card.digest)
            case e.ToolRegistered():
                build = _with(build, "approved", "It was approved for a task of the person's alone.")
            case e.ToolAliased(target=target):
                words = f"There is a tool that does the same: {target.name}."
                build = _with(build, "approved", words, digest=target.digest)
            case e.TaskFinished(outcome=outcome, reason=reason) if outcome != "parked" and not build.ended:
                build = _with(build, "failed", reason or "It could not be built.")
            case _:
                pass
    return build


def _with(
    entry: RequestedBuild, state: State, text: str, *, approval_id: str = "", digest: str = ""
) -> RequestedBuild:
    return msgspec.structs.replace(
        entry,
        state=state,
        text=str(one_line(text, 600)),
        approval_id=approval_id or entry.approval_id,
        digest=digest or entry.digest,
    )


async def build_now(app: AppContext, name: str, need: str) -> RequestedBuild:
    """Build a tool that the person asked for, until it waits for a verdict; return its state.

    Raise UsageError, StoreError. Nothing is approved here.
    """
    if app.demo:
        raise UsageError(
            f"No model is there to write {one_line(name, 60)}.", hint="Choose one first: alita setup"
        )
    if refused := app.library.banned(name):
        raise UsageError(refused, hint="`alita tools bans` lists what is banned.")
    order = _order("The person", BuildRequest(name=name, need=need))
    session = await open_session(app, None, parks=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, session.send, Interrupt(every=True))
    text = f"Build the tool {name}: {need}"
    session.send(Improve(proposal=f"new:{name}", text=str(one_line(text, 600)), order=order))
    await session.run(until_idle=True)
    entry = RequestedBuild(session_id=session.session_id, name=name, client="", at=now().isoformat())
    return as_recorded(entry, session.bus.history)


def _order(requester: str, request: BuildRequest) -> BuildOrder:
    """Return the order for a build that `requester` asks for. Raise UsageError."""
    if not _NAME.fullmatch(request.name):
        raise UsageError(
            f"{one_line(request.name, 60)!r} is not a name for a tool.",
            hint="Snake case: 3 to 48 of a-z, 0-9 and _.",
        )
    if not request.need.strip() or len(request.need) > 2000 or len(request.details) > 8000:
        raise UsageError("A need of 1 to 2,000 characters and details of at most 8,000 are taken.")
    if len(request.examples) > 5 or len(msgspec.json.encode(request.examples)) > 20_000:
        raise UsageError("At most 5 examples of together 20,000 bytes are taken.")
    needs = Capabilities(network=request.hosts)
    if wrong := faults(needs):
        raise UsageError(f"The hosts cannot be granted: {one_line(wrong[0], 200)}.")
    return BuildOrder(
        action_id="",
        name=request.name,
        goal=defused(request.need),
        details=defused(request.details),
        task=f"{requester} asks for a tool: {request.need}",
        examples=request.examples,
        needs=needs,
    )
