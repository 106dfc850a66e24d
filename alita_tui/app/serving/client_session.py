"""The session that the calls of one MCP client are recorded in: a file, a stream and a sandbox, and no agent."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from alita_tui import __version__
from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id, now
from alita_tui.app.model_calls import model_calls
from alita_tui.app.servers.book import LazyServers
from alita_tui.app.session import open_file
from alita_tui.events import Artefact, Json, RunReport, ToolRecord
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import (
    AlitaError,
    ConfigError,
    SandboxUnavailable,
    StoreError,
    UsageError,
)
from alita_tui.spine.ports.serving import Answer, Client, Tell
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.agent.references import Resolved
    from alita_tui.agent.tool_runs import CountedRun

_DATA = "data:"
_OURS = "alita://artefact/"
_COUNT_EVERY = 0.1
"""Seconds until successful runs are counted, so that the runs of a busy client are counted together."""


class ClientSession:
    """One client's calls; each is recorded before it runs, as in any session."""

    def __init__(self, app: AppContext, client: Client) -> None:
        """Open the session's file; block on the disk and the keyring. Raise StoreError, ConfigError."""
        from alita_tui.agent.inner_calls import InnerCalls
        from alita_tui.agent.projection import StateProjection
        from alita_tui.agent.questions import Questions
        from alita_tui.agent.references import References
        from alita_tui.agent.tool_runs import ToolRuns
        from alita_tui.registry.task_library import TaskLibrary
        from alita_tui.toolsmith.checks.probes import misfit

        self._client = client
        self._to_count: list[CountedRun] = []
        self._count_now = asyncio.Event()
        self._misfit = misfit
        redactor = app.redactor()
        self._file = open_file(app, None)
        self.bus = Bus(self._file.session_id, self._file, now, redactor=redactor)
        self._models = None
        asker = None
        with suppress(ConfigError):  # tools that ask no model run without one
            self._models = app.models()
            asker = model_calls(app, self.bus, self._models, Questions(self.bus, parks=True))
        self._broker = app.broker(self._record_request, asker, redactor)
        self._sandbox = app.sandbox(self._file.session_id, pool=True, broker=self._broker)
        self._sandbox.servers = LazyServers(app, self._sandbox, self.bus.emit, redactor, asker=asker)
        self._limits = app.limits
        self._shelf = TaskLibrary(app.library)
        self._artefacts = session_artefacts(app, self._file.session_id, reuse=True)
        self._projection = StateProjection(self.bus)
        self._references = References(self.bus, self._projection, self._artefacts)
        self._runs = ToolRuns(
            self.bus, self._shelf, self._sandbox, self._artefacts, limits=self._limits,
            progress=lambda *_: None, misfit=misfit, count_later=self._to_count.append,
        )  # fmt: skip
        self._inner = InnerCalls(self._runs, self._shelf, new_id=new_id, misfit=misfit)
        self._broker.tools = self._inner
        self._tells: dict[str, Tell] = {}
        self._following: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._counting: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Record which client calls, and start containers ahead. Raise StoreError."""
        self._following = asyncio.create_task(self._follow())
        title = f"{self._client.name} over MCP"
        await self.bus.emit(e.SessionOpened(title=title, version=__version__))
        await self.bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
        self._warming = asyncio.create_task(self._warm_up())

    async def call(
        self, name: str, arguments: Json, tell: Tell, served: Callable[[str], ToolRecord]
    ) -> Answer:
        """Run a tool; return its result, or why it did not run, without any secret.

        `served` returns the version that runs; it may block, and refuse by an AlitaError.
        """
        try:
            return await self._call(name, arguments, tell, served)
        finally:
            if any(not run.finished.ok for run in self._to_count):
                self._count_now.set()
            if self._to_count and (self._counting is None or self._counting.done()):
                self._counting = asyncio.create_task(self._count())

    async def _count(self) -> None:
        """Count finished runs on disk, many at once; failures as soon as the answer has been returned."""
        while self._to_count:
            with suppress(TimeoutError):
                async with asyncio.timeout(_COUNT_EVERY):
                    await self._count_now.wait()
            batch, self._to_count[:] = tuple(self._to_count), ()
            self._count_now.clear()
            with suppress(AlitaError):  # if the disk fails, recording the next call reports it
                await self._runs.count(batch)

    async def _call(
        self, name: str, arguments: Json, tell: Tell, served: Callable[[str], ToolRecord]
    ) -> Answer:
        from alita_tui.agent.tool_runs import OpenCall, Work

        call_id, before = e.CallId(new_id()), self.bus.last_seq
        try:
            record, recorded_arguments, resolved = await asyncio.to_thread(
                self._ready, name, arguments, served
            )
            if resolved is None:
                recorded_arguments = await self._with_artefacts(arguments, record.draft.input_schema)
                resolved = await asyncio.to_thread(self._resolved, record, recorded_arguments)
            if record.digest not in {card.digest for card in self._projection.state.library}:
                await self.bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
            called = e.ToolCalled(
                call_id=call_id, action_id="", name=record.draft.name, version=record.version,
                digest=record.digest, arguments=recorded_arguments,
                files=resolved.files, references=resolved.references,
            )  # fmt: skip
            self._tells[call_id] = tell
            # A run without an exception is weak evidence, and no person rates it here.
            work = Work(arguments=resolved.arguments, inputs=resolved.inputs, kept_at=now().isoformat())
            report = await self._runs.run(called, OpenCall(record), work)
        except AlitaError as error:
            return self.bus.redacted(Answer(failed=error.message, hint=error.hint))
        finally:
            self._tells.pop(call_id, None)
            if not self._tells:
                self.bus.forget_spans(e.NO_TASK)
        returned, files = self._end_of_call(call_id, before)
        if returned is None:
            hint = "Try other arguments; the owner of this library can have it repaired."
            return self.bus.redacted(Answer(failed=_failure(name, report), hint=hint, files=files))
        result = (
            returned.report.result
        )  # the recorded result, without secrets; only an outline if it is too large for the record
        if returned.report.result_handle:
            result = await asyncio.to_thread(self.bus.redacted, report.result)
        misfit = f"The result is not what the tool promises: {returned.misfit}" if returned.misfit else ""
        return Answer(result=result, failed=misfit, files=files)

    def _ready(
        self, name: str, arguments: Json, served: Callable[[str], ToolRecord]
    ) -> tuple[ToolRecord, dict[str, Any], Resolved | None]:
        """Return a tool and its arguments, as given and resolved; None for the latter if they hold files.

        Block on the disk. Raise AlitaError.
        """
        record = served(name)
        values: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
        files = next(_files_in(values, record.draft.input_schema), None)
        return record, values, None if files else self._resolved(record, values)

    def _resolved(self, record: ToolRecord, arguments: dict[str, Any]) -> Resolved:
        """Return the arguments that the tool gets. Block on the disk. Raise RegistryError if they do not fit it."""
        from alita_tui.agent.arguments import check_arguments

        resolved = self._references.resolve(arguments, record.draft.input_schema)
        check_arguments(record, resolved.arguments, self._misfit)
        return resolved

    def _end_of_call(self, call_id: str, before: int) -> tuple[e.ToolReturned | None, tuple[Artefact, ...]]:
        """Return the recorded end of a call, if its tool returned, and the files that it left."""
        returned: e.ToolReturned | None = None
        files: list[Artefact] = []
        for envelope in self.bus.history.newest(e.ToolReturned, e.ArtefactAdded):
            if (envelope.seq or 0) <= before:
                break
            match envelope.event:
                case e.ToolReturned(call_id=ended) as event if ended == call_id:
                    returned = event
                case e.ArtefactAdded(artefact=file, source=source) if source == call_id:
                    files.insert(0, file)
                case _:
                    pass
        return returned, tuple(files)

    # --- files ------------------------------------------------------------------------------------

    @property
    def files(self) -> tuple[Artefact, ...]:
        """The session's files, the newest last."""
        return self._projection.state.artefacts

    def file(self, digest: str) -> tuple[Artefact, Path] | None:
        """Return a file of the session, and where its bytes are. Raise StoreError."""
        artefact = next((file for file in reversed(self.files) if file.digest == digest), None)
        return (artefact, self._artefacts.path(artefact)) if artefact is not None else None

    async def _with_artefacts(self, arguments: Any, schema: Json) -> dict[str, Any]:
        """Return arguments with their files stored as artefacts: a client may not name paths of this machine.

        Raise UsageError for anything but a data: URI or the address of a file of this session.
        """
        values: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
        for value, place in _files_in(values, schema):
            place[0][place[1]] = await self._file_of(value)
        return values

    async def _file_of(self, uri: str) -> str:
        if uri.startswith(_OURS):
            entry = self.file(uri.removeprefix(_OURS)[:64])
            if entry is None:
                raise UsageError(
                    "That file is not here.", hint="Name one that an earlier call of yours left."
                )
            return entry[0].handle
        if not uri.startswith(_DATA):
            raise UsageError(
                f"{one_line(uri, 60)!r} is no file that can be taken.",
                hint="Give its content as a data: URI (data:text/csv;name=x.csv;base64,…), or an alita:// URI.",
            )
        data, name = decoded(uri)
        artefact = await self.bus.save_with(self._artefacts.add_bytes, data, name)
        await self.bus.emit(e.ArtefactAdded(artefact=artefact, origin="person"))
        return artefact.handle

    # --- around it ----------------------------------------------------------------------------------

    async def _record_request(self, event: e.BrokerAnswered | e.PageLogged) -> None:
        await self.bus.emit(self._inner.placed(event), span=event.call_id)

    async def _follow(self) -> None:
        """Report what running tools print to the callers that asked for progress."""
        async for envelope in self.bus.subscribe():
            if isinstance(envelope.event, e.OutputChunk) and (tell := self._tells.get(envelope.event.run_id)):
                for line in envelope.event.text.strip().splitlines()[-10:]:
                    tell(str(one_line(line, 200)))

    async def _warm_up(self) -> None:
        with suppress(SandboxUnavailable):  # the first run reports why
            await self._sandbox.warm_up(self._limits, lambda *_: None)

    async def close(self) -> None:
        """Stop what runs and close every part and the file, even if one of them fails."""
        self.bus.leave()
        async with AsyncExitStack() as parts:
            parts.push_async_callback(asyncio.to_thread, self._file.close)
            parts.callback(self._artefacts.close)
            if self._models is not None:
                parts.push_async_callback(self._models.aclose)
            parts.push_async_callback(self._sandbox.close)
            parts.callback(self.bus.close)
            if self._warming is not None:
                self._warming.cancel()
                await asyncio.wait((self._warming,))
            if self._counting is not None:
                self._count_now.set()
                await self._counting
            with suppress(StoreError):
                await self.bus.emit(e.SessionClosed(state=self._state(), version=__version__))

    def _state(self) -> str:
        from alita_tui.view.fingerprint import fingerprint
        from alita_tui.view.fold import fold_all

        return fingerprint(fold_all(self.bus.history))


def decoded(uri: str) -> tuple[bytes, str]:
    """Return the content of a data: URI (RFC 2397) and the name that it gives. Raise UsageError."""
    head, comma, body = uri.removeprefix(_DATA).partition(",")
    if not comma:
        raise UsageError("That data: URI has no content.", hint="Write data:text/csv;name=x.csv;base64,…")
    words = [part.strip() for part in head.split(";")]
    names = [word[5:] for word in words if word.lower().startswith("name=")]
    name = unquote_to_bytes(names[0]).decode("utf-8", "replace") if names else "file"
    try:
        data = unquote_to_bytes(body)
        if words[-1].lower() == "base64":
            data = b64decode(data, validate=True)
    except (NoBase64, ValueError) as error:
        raise UsageError(f"The content of a data: URI cannot be read: {error}.") from error
    return data, name


def _files_in(value: Any, schema: Json) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield each text where the schema asks for a file, with its place: a container and its key."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, dict):
        properties = schema.get("properties")
        inner = [
            (key, element, properties.get(key) if isinstance(properties, dict) else None)
            for key, element in value.items()
        ]
    elif isinstance(value, list):
        inner = [(key, element, schema.get("items")) for key, element in enumerate(value)]
    else:
        return
    for key, element, about in inner:
        if isinstance(element, str) and isinstance(about, dict) and about.get("format") == "file":
            yield element, (value, key)
        else:
            yield from _files_in(element, about)


def _failure(name: str, report: RunReport) -> str:
    from alita_tui.agent.tool_runs import last_words

    error = one_line(last_words(report), 600)
    return f"{name} failed ({report.status}{f', {report.reason}' if report.reason else ''}): {error}"
