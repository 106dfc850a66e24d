"""`alita tools map`: an approved tool over a file of inputs, in containers here, by ssh or on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id, now
from alita_tui.events import RunOutcome, RunReport, ToolRecord, Value
from alita_tui.mapping.coordinator import Engine, Lost, Progress, run_map
from alita_tui.mapping.journal import Head, Journal, Outcome
from alita_tui.mapping.rows import InputFile, Row, opened, rows
from alita_tui.sandbox.fleet import Fleet
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.grants import phrases
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.text import one_line


class Mapped(Value, frozen=True):
    """What came of a map."""

    ok: int
    failed: int
    output: str


class Lanes:
    """An engine: containers of one tool, one row at a time in each."""

    def __init__(self, app: AppContext, record: ToolRecord, sandbox: Fleet, lanes: int) -> None:
        self.lanes = lanes
        self._app = app
        self._record = record
        self._sandbox = sandbox

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Run rows one after the other. Raise Lost, SandboxUnavailable, RequirementsError, RegistryError."""
        await asyncio.to_thread(self._still_approved)
        return [await self.one(row) for row in rows]

    async def one(self, row: Row) -> Outcome:
        """Run a row. Raise Lost, SandboxUnavailable, RequirementsError."""
        from alita_tui.agent.arguments import check_arguments
        from alita_tui.toolsmith.checks.probes import misfit

        record = self._record
        try:
            check_arguments(record, row.arguments, misfit)
        except RegistryError as error:
            return Outcome(row=row.number, reason=error.message, arguments=row.arguments)
        job = Job(
            run_id=new_id(), module=record.draft.name, code=record.draft.code, arguments=row.arguments,
            lock=record.lock, limits=self._app.limits, capabilities=record.granted, digest=record.digest,
            language=record.draft.language,
        )  # fmt: skip
        try:
            report = await self._sandbox.run(job, lambda *_: None, lambda *_: None)
        except EngineLost as error:
            raise Lost(error.message) from error
        if why := _failure(report) or misfit(report.result, record.draft.output_schema):
            return Outcome(row=row.number, reason=one_line(why, 2_000), arguments=row.arguments)
        return Outcome(row=row.number, result=report.result)

    def _still_approved(self) -> None:
        """Raise RegistryError where the tool was revoked or changed since the map began."""
        if self._app.library.get(self._record.draft.name, self._record.version).digest != self._record.digest:
            raise RegistryError(f"{self._record.draft.name} is no longer what this map began with.")


def _failure(report: RunReport) -> str:
    last = report.error.strip().splitlines()
    return "" if report.status == "ok" else f"{report.status}: {last[-1] if last else 'it said nothing'}"


def described(app: AppContext, name: str, path: Path) -> tuple[ToolRecord, InputFile]:
    """Return the tool and the file of a map that can begin. Raise RegistryError, UsageError."""
    record = app.library.get(name)
    mappable(record)
    return record, opened(path, record.draft.input_schema)


def mappable(record: ToolRecord) -> None:
    """Raise UsageError for a tool whose rows must not run twice, or not here."""
    if record.origin == "remote":
        raise UsageError(
            f"{record.draft.name} is a tool of an MCP server; only tools of the library are mapped."
        )
    if not record.granted.none:
        raise UsageError(
            f"{record.draft.name} is granted something: {'; '.join(phrases(record.granted))}.",
            hint="A map may run a row again after a kill, so only tools that reach nothing are mapped.",
        )


def engine_of(
    app: AppContext, record: ToolRecord, given: InputFile, names: Sequence[str], lanes: int
) -> AbstractAsyncContextManager[Engine]:
    """Return where rows run: by default in the engines of the settings. Raise UsageError, ConfigError."""
    clusters = [name for name in names if "://" in name and not name.startswith("ssh://")]
    if not clusters:
        return _in_containers(app, record, tuple(names), lanes)
    if len(names) > 1:
        raise UsageError("A cluster is the only engine of a map.", hint="Name one --engine tls://HOST:PORT.")
    return _on_cluster(app, record, given, clusters[0])


@asynccontextmanager
async def _in_containers(
    app: AppContext, record: ToolRecord, names: tuple[str, ...], lanes: int
) -> AsyncIterator[Engine]:
    settings = app.sandbox_settings(pool=True)
    engines = names or settings.engines
    lanes *= len(engines)  # each of them can hold all: a larger one is given more
    sandbox = Fleet(replace(settings, engines=engines, lanes=lanes), f"map-{new_id()}")
    try:
        await sandbox.prepare(lambda *_: None)
        yield Lanes(app, record, sandbox, lanes)
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
) -> Mapped:
    """Run the tool on each row that the folder has no result of, and write the manifest.

    Raise SandboxUnavailable, RequirementsError, RegistryError, UsageError, StoreError; what is done stays.
    """
    label = f"{record.draft.name} v{record.version}"
    journal = await asyncio.to_thread(
        Journal, output, Head(tool=label, digest=str(record.digest), input=given.sha256)
    )
    try:
        before = len(journal.parts)
        async with engine as running:
            await run_map(rows(Path(given.path), record.draft.input_schema), running, journal, tell)
        ok, failed = await asyncio.to_thread(journal.finish)
        if len(journal.parts) > before:
            await asyncio.to_thread(_count, app, record, ok=not failed)
        return Mapped(ok=ok, failed=failed, output=str(output))
    finally:
        journal.close()


def _count(app: AppContext, record: ToolRecord, *, ok: bool) -> None:
    """Count a map as one run of its tool, however many rows it had."""
    app.library.record_run(record.draft.name, record.version, ok=ok, query="")
    outcome = RunOutcome(run=f"map/{new_id()}", at=now().isoformat(), grade="ran" if ok else "failed")
    app.library.note(record.draft.name, record.version, (outcome,))
