"""Serves the library to MCP clients: decides which tools are served, in whose session, and how many run at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar, get_args

from alita_tui.app.context import AppContext
from alita_tui.app.forbidden import not_allowed_here
from alita_tui.app.serving.builds import RequestedBuilds
from alita_tui.app.serving.client_session import ClientSession
from alita_tui.app.serving.offers import Offers
from alita_tui.events import Artefact, Json, Origin, ToolRecord, ToolState, build_digest
from alita_tui.registry.reconcile import RUNNABLE
from alita_tui.spine.errors import AlitaError, RegistryError, UsageError
from alita_tui.spine.ports.serving import Answer, BuildRequest, BuildStatus, Client, Document, Prompt, Tell

T = TypeVar("T")

_MOST_SESSIONS = 8
"""Most client sessions open at once; further clients share one, so that the number of open files is bounded."""
_KINDS = frozenset((*get_args(ToolState), *get_args(Origin), "asked"))
"""Words of `mcp.serve` that mean a kind of tool, never a tool of that name."""
_MOST_WAITING = 64
"""Calls that may wait for their turn."""


class Serving:
    """Implements `Served`."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._chosen = app.loaded.settings.mcp
        self._by_tag = any(pattern.startswith("#") for pattern in self._chosen.serve)
        self._sessions: dict[str, ClientSession] = {}
        self._opening = asyncio.Lock()
        self._turns = asyncio.Semaphore(self._chosen.calls_at_once)
        self._waiting = 0
        self._work: set[asyncio.Task[Any]] = set()
        self._builds = RequestedBuilds(app)
        self._verified: dict[str, ToolRecord] = {}
        """Records whose bytes match their digest, by digest."""
        self._offers = Offers(app)

    def tools(self) -> tuple[ToolRecord, ...]:
        """Return the tools that the settings serve and let run, by name. Raise StoreError."""
        library = self._app.library
        if library.standing().problem:
            return ()  # nothing runs, so nothing is offered
        requested = self._builds.approved()
        return tuple(
            record
            for record in library.records()
            if self._serves(record, requested)
            and not not_allowed_here(self._app, record)
            and self._matches_digest(record)
        )

    def _serves(self, record: ToolRecord, requested: frozenset[str]) -> bool:
        tags = self._app.library.tags.of(record.draft.name) if self._by_tag else ()
        kinds = (str(record.state), str(record.origin), *(("asked",) if record.digest in requested else ()))
        words = (*kinds, str(record.draft.name), *(f"#{tag}" for tag in tags))
        return any(
            pattern in kinds if pattern in _KINDS else any(fnmatchcase(word, pattern) for word in words)
            for pattern in self._chosen.serve
        )

    def _matches_digest(self, record: ToolRecord) -> bool:
        """Return whether a record matches its approved digest, which covers the texts that clients read, too."""
        if self._verified.get(record.digest) is not record:
            if build_digest(record.draft, record.lock) != record.digest:
                return False
            self._verified[record.digest] = record
        return True

    def find(self, need: str, limit: int) -> tuple[tuple[ToolRecord, float], ...]:
        """Return the served tools that fit a need, the best first."""
        served = {record.digest: record for record in self.tools()}
        hits = self._app.library.search(need, limit=4 * limit).hits
        scored = [(served[hit.card.digest], hit.score) for hit in hits if hit.card.digest in served]
        return tuple(scored[:limit])

    async def call(self, client: Client, name: str, arguments: Json, tell: Tell) -> Answer:
        """Run a tool for a client. The end of the run is recorded even if the client disconnects."""
        if self._waiting >= _MOST_WAITING:
            return Answer(
                failed="Too many calls wait already.", hint="Wait for answers before you call again."
            )
        self._waiting += 1
        try:
            return await self._in_own_task(self._call(client, name, arguments, tell))
        finally:
            self._waiting -= 1

    async def _call(self, client: Client, name: str, arguments: Json, tell: Tell) -> Answer:
        async with self._turns:
            try:
                if self._open(client) is None:  # a refused call opens no session
                    await asyncio.to_thread(self._served, name)
                session = await self._session(client)
            except AlitaError as error:
                return Answer(failed=error.message, hint=error.hint)
            return await session.call(name, arguments, tell, self._served)

    def _served(self, name: str) -> ToolRecord:
        """Return the version that a call runs, looked up anew: the server's list may be a second old.

        Block on the disk. Raise RegistryError for a tool that is no longer served.
        """
        library = self._app.library
        try:
            record = library.get(name)
        except RegistryError:
            versions = library.versions(name)
            if not versions or versions[-1].state in RUNNABLE:
                raise
            raise RegistryError(_not_served(versions[-1])) from None
        if not self._serves(record, self._builds.approved()):
            raise RegistryError(_not_served(record))
        return record

    async def _in_own_task(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work in a task of its own, so that a caller's cancelled scope does not cut off its clean-up."""
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def _session(self, client: Client) -> ClientSession:
        """Return the session of a client, opened by its first call. Raise StoreError, ConfigError."""
        async with self._opening:
            name = client.name
            if name not in self._sessions and len(self._sessions) >= _MOST_SESSIONS:
                name, client = "", Client(name="other clients")
            if name not in self._sessions:
                session = await asyncio.to_thread(ClientSession, self._app, client)
                await session.begin()
                self._sessions[name] = session
            return self._sessions[name]

    def _open(self, client: Client) -> ClientSession | None:
        return self._sessions.get(client.name) or self._sessions.get("")

    def files(self, client: Client) -> tuple[Artefact, ...]:
        """Return the files of a client's session."""
        session = self._open(client)
        return session.files if session is not None else ()

    def file(self, client: Client, digest: str) -> tuple[Artefact, Path] | None:
        """Return one of them, and where its bytes are. Raise StoreError."""
        session = self._open(client)
        return session.file(digest) if session is not None else None

    def redacted(self, client: Client, text: str) -> str:
        """Return a text of a client's files without secrets."""
        session = self._open(client)
        return session.bus.redacted(text) if session is not None else text

    # --- builds and further offers --------------------------------------------------------------

    @property
    def builds(self) -> bool:
        """Whether clients may ask for tools: the settings allow it, and a model is configured."""
        return self._chosen.builds_per_day > 0 and not self._app.demo

    async def build(self, client: Client, request: BuildRequest) -> BuildStatus:
        """Begin a build that waits for the person. Raise UsageError."""
        if not self.builds:
            raise UsageError("No tool can be asked for here.", hint="The setting is mcp.builds_per_day.")
        return await self._builds.begin(client, request)

    def watch_builds(self) -> None:
        """Continue builds that were requested earlier, once the person decides."""
        self._builds.watch()

    async def status(self, build_id: str) -> BuildStatus:
        """Return how far a build is. Raise UsageError."""
        return await asyncio.to_thread(self._builds.status, build_id)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return recipes, where they are offered."""
        return self._offers.prompts(self.tools) if "recipes" in self._chosen.offers else ()

    def documents(self) -> tuple[Document, ...]:
        """Return transcripts and audits, where they are offered."""
        return self._offers.documents(self._chosen.offers, self.tools)

    def document(self, name: str) -> Document | None:
        """Return one of them with its text. Raise StoreError."""
        return self._offers.document(name, self._chosen.offers, self.tools)

    async def close(self) -> None:
        """End every run and build, and close every session."""
        for task in self._work:
            task.cancel()
        while self._work:
            await asyncio.wait(self._work)
        await self._builds.close()
        for session in self._sessions.values():
            await session.close()


def _not_served(record: ToolRecord) -> str:
    return f"{record.draft.name} v{record.version} is not served (it is {record.state})."
