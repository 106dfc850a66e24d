"""`alita tools map`: an approved tool over a file of inputs, in containers here, by ssh or on a cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from pathlib import Path

import msgspec
from msgspec.structs import replace

from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id, now
from alita_tui.events import BrokerAnswered, PageLogged, RunOutcome, RunReport, ToolRecord, Value, as_json
from alita_tui.mapping.coordinator import Engine, Lost, Progress, run_map
from alita_tui.mapping.journal import Head, Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import InputFile, Row, opened, rows
from alita_tui.sandbox.fleet import Fleet
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.spine.errors import RegistryError, StoreError, UsageError
from alita_tui.spine.grants import phrases, repeatable
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.text import one_line
from alita_tui.store.disk import PRIVATE

REQUESTS = "requests.jsonl"
"""In the folder of results: what the tool asked hosts and the workspace for."""


class Mapped(Value, frozen=True):
    """The results of a map."""

    ok: int
    failed: int
    output: str
    unsure: int = 0
    """How many of the failed rows may have run."""


class Requests:
    """Records what a tool asked its broker for while rows ran, one request per line, without secrets."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.redactor = redactor
        self.row_of: dict[str, int] = {}
        """Runs that are under way -> their rows."""
        self._path = path

    async def tell(self, answered: BrokerAnswered | PageLogged) -> None:
        """Record a request; what a page says is not one. Raise StoreError."""
        if isinstance(answered, PageLogged):
            return
        await asyncio.to_thread(self._write, self.redactor.value(answered))

    def _write(self, answered: BrokerAnswered) -> None:
        row = self.row_of.get(str(answered.call_id))
        line = as_json({"row": row, "at": now().isoformat(), **msgspec.to_builtins(answered)})
        try:
            with open(self._path, "a", opener=_private) as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}.") from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


class Lanes:
    """An engine: containers of one tool, one row at a time in each."""

    def __init__(
        self,
        app: AppContext,
        record: ToolRecord,
        sandbox: Fleet,
        lanes: int,
        requests: Requests | None = None,
    ) -> None:
        """`requests` records what a tool does with its grants; None for a tool that is granted nothing."""
        from alita_tui.toolsmith.checks.probes import Fit

        self.lanes = lanes
        # Each counts the steps of one value: every row takes copies, which share the compiled schema.
        self._fit_of_arguments = Fit(record.draft.input_schema)
        self._fit_of_result = Fit(record.draft.output_schema)
        self._requests = requests
        self._app = app
        self._record = record
        self._sandbox = sandbox

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Run rows one after the other. Raise Lost, SandboxUnavailable, RequirementsError, RegistryError."""
        await asyncio.to_thread(self._still_approved)
        return [await self.run_row(row) for row in rows]

    async def run_row(self, row: Row) -> Outcome:
        """Run a row. Raise Lost, SandboxUnavailable, RequirementsError."""
        from alita_tui.agent.arguments import check_arguments

        record = self._record
        try:
            check_arguments(
                record, row.arguments, lambda value, _: copy(self._fit_of_arguments).misfit(value)
            )
        except RegistryError as error:
            return Outcome(row=row.number, reason=error.message, arguments=row.arguments)
        run_id = new_id()
        if self._requests is not None:
            self._requests.row_of[run_id] = row.number
        job = Job(
            run_id=run_id, module=record.draft.name, code=record.draft.code, arguments=row.arguments,
            lock=record.lock, limits=self._app.limits, capabilities=record.granted, digest=record.digest,
            language=record.draft.language,
        )  # fmt: skip
        try:
            report = await self._sandbox.run(job, lambda *_: None, lambda *_: None)
        except EngineLost as error:
            raise Lost(error.message) from error
        finally:
            if self._requests is not None:
                del self._requests.row_of[run_id]
        if self._requests is not None:
            report = self._requests.redactor.value(report)
        if why := _failure(report) or copy(self._fit_of_result).misfit(report.result):
            return Outcome(row=row.number, reason=one_line(why, 2_000), arguments=row.arguments)
        return Outcome(row=row.number, result=report.result)

    def _still_approved(self) -> None:
        """Raise RegistryError if the tool was revoked or changed since the map began."""
        if self._app.library.get(self._record.draft.name, self._record.version).digest != self._record.digest:
            raise RegistryError(f"{self._record.draft.name} is no longer what this map began with.")


def _failure(report: RunReport) -> str:
    last = report.error.strip().splitlines()
    return "" if report.status == "ok" else f"{report.status}: {last[-1] if last else 'it said nothing'}"


def described(app: AppContext, name: str, path: Path) -> tuple[ToolRecord, InputFile]:
    """Return the tool and the file of a map that can begin. Raise RegistryError, UsageError."""
    record = app.library.get(name)
    _mappable(record)
    return record, opened(path, record.draft.input_schema)


def _mappable(record: ToolRecord) -> None:
    """Raise UsageError for a tool that is not run row by row."""
    if record.origin == "remote":
        raise UsageError(
            f"{record.draft.name} is a tool of an MCP server; only tools of the library are mapped."
        )
    if record.granted.model_calls or record.granted.tools:
        raise UsageError(
            f"{record.draft.name} may ask models or call other tools: {'; '.join(phrases(record.granted))}.",
            hint="That is not done for each row of a file: let it take the whole file, or use `alita batch`.",
        )


def grants_nothing(record: ToolRecord) -> None:
    """Raise UsageError for a tool that others may not have run here: it is granted something, or is a server's."""
    _mappable(record)
    if not record.granted.none:
        raise UsageError(
            f"{record.draft.name} is granted something: {'; '.join(phrases(record.granted))}.",
            hint="Workers of a cluster run tools that reach nothing; map it here, or with --engine ssh://HOST.",
        )


def engine_of(
    app: AppContext, record: ToolRecord, given: InputFile, names: Sequence[str], lanes: int, output: Path
) -> AbstractAsyncContextManager[Engine]:
    """Return where rows run: by default in the engines of the settings. Raise UsageError, ConfigError.

    What a tool does with its grants is recorded in the folder `output`.
    """
    clusters = [name for name in names if "://" in name and not name.startswith("ssh://")]
    if not clusters:
        return _in_containers(app, record, tuple(names), lanes, output)
    grants_nothing(record)
    if len(names) > 1:
        raise UsageError("A cluster is the only engine of a map.", hint="Name one --engine tls://HOST:PORT.")
    return _on_cluster(app, record, given, clusters[0])


@asynccontextmanager
async def _in_containers(
    app: AppContext, record: ToolRecord, names: tuple[str, ...], lanes: int, output: Path
) -> AsyncIterator[Engine]:
    settings = app.sandbox_settings(pool=True)
    engines = names or settings.engines
    lanes *= len(engines)  # each of them can hold all: a larger one is given more
    requests, broker = None, None
    if not record.granted.none:
        requests = Requests(output / REQUESTS, await asyncio.to_thread(app.redactor))
        broker = app.broker(requests.tell, None, requests.redactor)
    shared = replace(settings, engines=engines, lanes=lanes, many_calls=True)
    sandbox = Fleet(shared, f"map-{new_id()}", broker=broker)
    try:
        await sandbox.prepare(lambda *_: None)
        yield Lanes(app, record, sandbox, lanes, requests)
    finally:
        await sandbox.close()


@asynccontextmanager
async def _on_cluster(
    app: AppContext, record: ToolRecord, given: InputFile, name: str
) -> AsyncIterator[Engine]:
    from alita_tui.app.workers import cluster_part
    from alita_tui.mapping.cluster.addresses import address
    from alita_tui.mapping.cluster.authority import credentials

    where, shown = address(name), credentials(app.paths.cluster)
    async with cluster_part("client").connected(where, shown, str(record.digest), given) as engine:
        yield engine


async def map_tool(
    app: AppContext,
    record: ToolRecord,
    given: InputFile,
    output: Path,
    engine: AbstractAsyncContextManager[Engine],
    tell: Callable[[Progress], None],
    *,
    unsure_again: bool = False,
) -> Mapped:
    """Run the tool on each row that the folder has no result of, and write the manifest.

    A tool that may change something runs on each row once at most: with `unsure_again` also on those that may have run.

    Raise SandboxUnavailable, RequirementsError, RegistryError, UsageError, StoreError; what is done stays.
    """
    label = f"{record.draft.name} v{record.version}"
    head = Head(
        tool=label, digest=str(record.digest), input=given.sha256, once=not repeatable(record.granted)
    )
    journal = await asyncio.to_thread(Journal, output, head, unsure_again=unsure_again)
    try:
        before = len(journal.parts)
        async with engine as running:
            await run_map(rows(Path(given.path), record.draft.input_schema), running, journal, tell)
        ok, failed = await asyncio.to_thread(journal.finish)
        if len(journal.parts) > before:
            await asyncio.to_thread(_count, app, record, ok=not failed)
        return Mapped(ok=ok, failed=failed, unsure=journal.unsure, output=str(output))
    finally:
        journal.close()


def _count(app: AppContext, record: ToolRecord, *, ok: bool) -> None:
    """Count a map as one run of its tool, however many rows it had."""
    app.library.record_run(record.draft.name, record.version, ok=ok, query="")
    outcome = RunOutcome(run=f"map/{new_id()}", at=now().isoformat(), grade="ran" if ok else "failed")
    app.library.note(record.draft.name, record.version, (outcome,))
