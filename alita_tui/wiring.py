"""The one place where the rooms are joined. Everybody else receives what is built here."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from alita_tui import __version__
from alita_tui.config.load import SHORTEST_KEY, Loaded, load
from alita_tui.config.paths import Paths, locate, shipped
from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus, Subscription
from alita_tui.spine.commands import CloseSession, Command, ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ConfigError, RegistryError, SandboxUnavailable, StoreError, UsageError
from alita_tui.spine.events import ModelRole
from alita_tui.spine.inventory import Inventory
from alita_tui.spine.ports import (
    Asker,
    Job,
    Limits,
    OnOutput,
    PackageIndex,
    PastCall,
    Progress,
    Sandbox,
    ToolShelf,
)
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.values import (
    Check,
    Json,
    Lineage,
    Lock,
    LockedPackage,
    MemoryItem,
    Move,
    MoveKind,
    RunReport,
    SandboxStatus,
    ToolDraft,
    ToolRecord,
    build_digest,
)

if TYPE_CHECKING:
    from alita_tui.agent.budget import Budget
    from alita_tui.agent.calling import ModelCalls
    from alita_tui.agent.orchestrator import Orchestrator
    from alita_tui.agent.questions import Questions
    from alita_tui.agent.rerun import Rerun
    from alita_tui.config.models import ModelEntry
    from alita_tui.config.policy import Policy
    from alita_tui.config.settings import BudgetSettings
    from alita_tui.llm.cache import ReplyStore
    from alita_tui.llm.factory import ModelSpec, ProbeResult
    from alita_tui.llm.roster import Roster
    from alita_tui.memory.recall import Recollection
    from alita_tui.registry.lineage import Lineages
    from alita_tui.registry.shelf import Shelf
    from alita_tui.registry.starters import Starters
    from alita_tui.sandbox.broker.broker import Broker
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.sandbox.policy import SandboxSettings
    from alita_tui.store.audit import AuditLog
    from alita_tui.store.backups import Backups
    from alita_tui.store.desk import Desk
    from alita_tui.store.documents import CleanDocuments, DocumentTable
    from alita_tui.store.labels import Labels
    from alita_tui.store.search import SessionSearch
    from alita_tui.store.sessions import SessionFile, SessionShelf
    from alita_tui.store.spend import SpendBook
    from alita_tui.toolsmith.gate import Decision
    from alita_tui.toolsmith.gates.case import Gate
    from alita_tui.toolsmith.proving import Proof
    from alita_tui.view.model import SessionView
    from alita_tui.web.client import WebRoom

_SESSIONS_LOOKED_AT = 30
_CALLS_REPLAYED = 20
RETRY_SECONDS = 1.0
"""After which saving is tried again where it failed."""

MOVED: dict[MoveKind, str] = {
    "archive": "archived",
    "revoke": "revoked",
    "quarantine": "quarantined",
    "restore": "restored",
    "pin": "pinned",
    "unpin": "unpinned",
    "rollback": "rolled back",
}
"""What the audit log calls a move."""

DEMO_SCRIPT = "demo.script.json"
"""The recorded model's replies, among the shipped sessions."""


def now() -> datetime:
    """The clock of every session."""
    return datetime.now(UTC)


def new_id() -> str:
    """A short id that is unique within a session."""
    return os.urandom(5).hex()


@dataclass
class House:
    """Folders, settings and the long-lived parts of one process, each built when first used."""

    paths: Paths
    loaded: Loaded
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    flags: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def open(
        cls, home: Path | None = None, flags: Mapping[str, object] | None = None, *, strict: bool = True
    ) -> House:
        """Find the folders, read the settings. Raises ConfigError."""
        environ = dict(os.environ)
        paths = locate(home, environ)
        return cls(paths, load(paths, environ, flags, strict=strict), environ, flags or {})

    @cached_property
    def sessions(self) -> SessionShelf:
        """All session files."""
        from alita_tui.store.sessions import SessionShelf

        self.paths.prepare()
        return SessionShelf(self.paths.sessions, now)

    @cached_property
    def labels(self) -> Labels:
        """What the person added to sessions."""
        from alita_tui.store.labels import Labels

        self.paths.prepare()
        documents = self._documents(self.paths.labels, "labels")
        return Labels(documents, now, redact=lambda text: self.redactor().text(text))

    @cached_property
    def session_search(self) -> SessionSearch:
        """Search over the text of all sessions."""
        from alita_tui.store.search import SessionSearch

        return SessionSearch(self.paths.session_search, self.sessions)

    @cached_property
    def desk(self) -> Desk:
        """Parked builds and the verdicts left for them."""
        from alita_tui.store.desk import Desk

        return Desk(self.paths.desk, self.sessions, now, redactor=self.redactor())

    @cached_property
    def audit(self) -> AuditLog:
        """The log of all verdicts."""
        from alita_tui.store.audit import AuditLog

        return AuditLog(self.paths.audit, now)

    @cached_property
    def shelf(self) -> Shelf:
        """The library of tools."""
        from alita_tui.registry.shelf import Shelf
        from alita_tui.store.approvals import AuditedApprovals

        return Shelf(self._tools, self.paths.mcp_box, now, approvals=AuditedApprovals(self.audit))

    @cached_property
    def _tools(self) -> DocumentTable:
        self.paths.prepare()
        return self._documents(self.paths.registry, "tools")

    def lineages(self, via: str) -> Lineages:
        """Versions of tools, and what is done with them by `console` or `cli`; every move is audited."""
        from alita_tui.registry.lineage import Lineages

        def tell(move: Move, record: ToolRecord) -> None:
            done = MOVED[move.kind]
            self.audit.append(
                who=move.by, verdict=f"taken back: {done}" if move.undone else done, digest=record.digest,
                name=move.name, version=move.version, session_id="", approval_id=record.approval_id,
                reason=move.reason, via=via,
            )  # fmt: skip

        return Lineages(self.shelf, self._tools, tell, now)

    @cached_property
    def starters(self) -> Starters:
        """Tools that come with alita and wait for an approval."""
        from alita_tui.registry.starters import Starters

        return Starters(shipped("starters"))

    @property
    def policy(self) -> Policy:
        """The rules that may approve, as their file has them now. Raises ConfigError."""
        from alita_tui.config.policy import load_policy

        return load_policy(self.paths.policy)

    def known_packages(self) -> tuple[LockedPackage, ...]:
        """The wheels of all tools that may run and that a person approved."""
        by_rule = {one.approval_id for one in self.audit.entries() if one.via == "policy"}
        records = (one for card in self.shelf.cards() for one in self.shelf.versions(card.name))
        return tuple(
            package
            for record in records
            if record.state in ("provisional", "trusted") and record.approval_id not in by_rule
            for package in record.lock.packages
        )

    @cached_property
    def memory(self) -> Recollection:
        """What earlier tasks taught."""
        from alita_tui.memory.recall import Recollection

        self.paths.prepare()
        return Recollection(self._documents(self.paths.memory, "items"))

    @cached_property
    def backups(self) -> Backups:
        """Backups of what was built up over many sessions."""
        from alita_tui.store.backups import Backups

        paths = self.paths
        databases = {one.name: one for one in (paths.registry, paths.memory, paths.labels)}
        return Backups(paths.backups, databases, {paths.mcp_box.name: paths.mcp_box}, now)

    def _documents(self, path: Path, table: str) -> DocumentTable:
        """A table that is backed up before it is upgraded. Raises StoreError."""
        from alita_tui.store.documents import DocumentTable

        self.backups.before_upgrade(path)
        return DocumentTable(path, table)

    @property
    def limits(self) -> Limits:
        """Limits of one run, from the settings."""
        chosen = self.loaded.settings.sandbox
        return Limits(
            wall_seconds=chosen.wall_seconds,
            cpu_seconds=2 * chosen.wall_seconds,  # an endless loop ends by the clock, threads by this
            memory_bytes=chosen.memory_mb * 1024 * 1024,
        )

    @property
    def demo(self) -> bool:
        """True when the model is the recorded one: none is configured, or the demo was asked for."""
        settings = self.loaded.settings
        return settings.model.provider == "demo" or not settings.configured

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Tasks that the recorded model knows."""
        if not self.demo:
            return ()
        from alita_tui.llm.scripted import load_script

        return load_script(shipped("sessions") / DEMO_SCRIPT).tasks

    def candidates(self, role: ModelRole) -> tuple[ModelEntry, ...]:
        """The models of a role in order; a model given as a flag stands alone. Raises ConfigError."""
        from alita_tui.config.models import candidates

        flagged = self.loaded.origin("model.provider") == "flag"
        return candidates(self.loaded.settings, role, chosen=flagged or self.demo)

    def model_spec(self, entry: ModelEntry) -> ModelSpec:
        """How to open one model, its key looked up; the keyring may block. Raises ConfigError."""
        from alita_tui.llm.factory import ModelSpec
        from alita_tui.llm.keys import find_key
        from alita_tui.llm.prices import OwnPrice

        if entry.provider in ("", "demo"):
            return ModelSpec(provider="demo", script=str(shipped("sessions") / DEMO_SCRIPT))
        key = find_key(entry.provider, env_file=self.paths.env_file, environ=self.environ, name=entry.key)
        own = (
            OwnPrice(input_usd=entry.input_usd, output_usd=entry.output_usd)
            if entry.input_usd is not None and entry.output_usd is not None
            else None
        )
        return ModelSpec(
            provider=entry.provider,
            model=entry.name,
            base_url=entry.base_url,
            api_key=key or "",
            timeout=self.loaded.settings.model.timeout,
            tools=entry.tools,
            vision=entry.vision,
            own_price=own,
        )

    def models(self) -> Roster:
        """The configured models of all roles, or the recorded one. Imports no SDK; the keyring may block.

        Raises ConfigError.
        """
        from alita_tui.llm.roster import Roster, Seat

        roles: dict[ModelRole, tuple[Seat, ...]] = {
            role: tuple(
                Seat(
                    spec=self.model_spec(entry),
                    context=entry.context,
                    max_usd=entry.max_usd,
                    needs=frozenset(entry.abilities),
                )
                for entry in self.candidates(role)
            )
            for role in get_args(ModelRole)
        }
        return Roster(roles)

    def redactor(self) -> Redactor:
        """What keeps secrets out of everything that is written or exported; the keyring may block."""
        keys: list[tuple[str, str]] = []
        for role in get_args(ModelRole):
            with suppress(ConfigError):
                specs = map(self.model_spec, self.candidates(role))
                keys += ((f"{spec.provider} key", spec.api_key) for spec in specs)
        return Redactor(
            (*((name, key) for name, key in keys if len(key) >= SHORTEST_KEY), *self.loaded.unwritten)
        )

    async def probe(self, entry: ModelEntry) -> ProbeResult:
        """One small real call of a model; what cannot be opened is the result too."""
        from alita_tui.llm.factory import ProbeResult, open_model, probe

        try:
            model = open_model(await asyncio.to_thread(self.model_spec, entry))
        except ConfigError as error:
            return ProbeResult(ok=False, error="unavailable", text=error.message, hint=error.hint)
        try:
            return await probe(model)
        finally:
            await model.aclose()

    def replies(self, redacted: Callable[[Json], Json]) -> ReplyStore:
        """Replies of earlier sessions to the very same requests."""
        from alita_tui.llm.cache import ReplyStore

        return ReplyStore(lambda: self._cached(self.paths.replies, "replies", redacted))

    def _cached(self, path: Path, table: str, redacted: Callable[[Json], Json]) -> CleanDocuments:
        """A table of what may be lost, opened; blocks on the disk."""
        from alita_tui.store.documents import CleanDocuments, DocumentTable

        self.paths.prepare()
        return CleanDocuments(DocumentTable(path, table), redacted)

    @property
    def cached_roles(self) -> frozenset[ModelRole]:
        """The roles that may be answered from the cache; the orchestrator only where the settings say so."""
        asked = self.loaded.settings.models.cache
        return frozenset(role for role in get_args(ModelRole) if asked or role != "orchestrator")

    def past_calls(self, name: str) -> tuple[PastCall, ...]:
        """Calls of a tool that returned, the newest first, from the newest sessions."""
        found: list[PastCall] = []
        for summary in self.sessions.list()[:_SESSIONS_LOOKED_AT]:
            if len(found) < _CALLS_REPLAYED:
                with suppress(StoreError, UsageError):
                    found += past_calls(recording(self, summary.session_id), name)
        return tuple(found[:_CALLS_REPLAYED])

    def spend_book(self, session_id: str) -> SpendBook:
        """What is spent today, over all sessions. Raises StoreError."""
        from alita_tui.store.spend import SpendBook

        self.paths.prepare()
        return SpendBook(self.paths.spend, session_id, lambda: now().astimezone().date())

    def sandbox_settings(self) -> SandboxSettings:
        """The sandbox's settings from ours."""
        import msgspec

        from alita_tui.sandbox.policy import default_settings

        chosen = self.loaded.settings.sandbox
        return msgspec.structs.replace(
            default_settings(self.paths.data, self.paths.cache),
            images=(chosen.image,) if chosen.image else (),
            image_tar=chosen.image_tar,
            pull=chosen.pull,
            profile=chosen.profile,
            account=chosen.account,
            socket=chosen.socket,
            engines=chosen.engines,
            ssh_config=chosen.ssh_config,
            environments_mb=chosen.environments_mb,
        )

    @property
    def workspace(self) -> Path:
        """The folder whose files a tool may be granted."""
        chosen = self.loaded.settings.sandbox.workspace
        return Path(chosen).expanduser() if chosen else self.paths.data / "workspace"

    def secret(self, name: str) -> str | None:
        """A secret by its name, from the environment, `.env` or the keyring; may block."""
        from alita_tui.llm.keys import find_key

        return find_key("", env_file=self.paths.env_file, environ=self.environ, name=name)

    def broker(
        self, tell: Callable[[e.BrokerAnswered], Coroutine[None, None, None]], models: Asker | None
    ) -> Broker:
        """What approved tools are granted, and whom each of their requests is told. Raises ConfigError."""
        from alita_tui.sandbox.broker.broker import Broker
        from alita_tui.spine.address import Guard

        guard = Guard(self.loaded.settings.sandbox.allowed_private, setting="sandbox.allowed_private")
        return Broker(
            guard, tell, workspace=self.workspace, secret=self.secret, models=models, environ=self.environ
        )

    def sandbox(
        self, session_id: str, *, pool: bool = False, broker: Broker | None = None, profile: str = ""
    ) -> Fleet:
        """The wall around generated code; with `pool` containers may be started ahead.

        `profile` goes before the one of the settings.
        """
        import msgspec

        from alita_tui.sandbox.fleet import Fleet

        settings = self.sandbox_settings()
        if profile:
            settings = msgspec.structs.replace(settings, profile=profile)
        if pool:
            chosen = self.loaded.settings.sandbox
            settings = msgspec.structs.replace(
                settings,
                pool_hot=chosen.pool_hot,
                pool_warm=chosen.pool_warm,
                pool_environments=chosen.pool_environments,
                session_calls=chosen.session_calls,
            )
        return Fleet(settings, session_id, broker=broker)

    def web(self, redacted: Callable[[Json], Json]) -> WebRoom:
        """Search and reading; pages that hold a secret are not kept."""
        import msgspec

        from alita_tui.web.client import WebRoom, WebSettings

        chosen = self.loaded.settings.web
        same = {
            name: getattr(chosen, name) for name in WebSettings.__struct_fields__ if hasattr(chosen, name)
        }
        settings = msgspec.structs.replace(
            WebSettings(),
            **same,
            google_key=self.loaded.secrets.get(chosen.google_key_name, ""),
            github_token=self.loaded.secrets.get(chosen.github_token_name, ""),
        )
        opened = cache(lambda: self._cached(self.paths.pages, "pages", redacted))
        return WebRoom(settings, environ=self.environ, pages=opened)

    async def warm_up(self, progress: Progress) -> None:
        """Fetch what the recorded model's tools need, once, so that the demo works without a network.

        Raises RequirementsError, SandboxUnavailable.
        """
        from alita_tui.llm.scripted import load_script

        script = shipped("sessions") / DEMO_SCRIPT
        wanted = load_script(script).requirements
        stamp = self.paths.cache / "demo-fetched"
        if stamp.exists() and stamp.read_text().split("\n") == list(wanted):
            return
        sandbox = self.sandbox("doctor")
        try:
            lock = await sandbox.lock(wanted, progress)
            job = Job(run_id="doctor", module="warm_up", code="def run() -> None: ...\n", lock=lock)
            await sandbox.run(job, lambda *_: None, progress)
        finally:
            await sandbox.close()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text("\n".join(wanted))

    async def diagnose(self) -> tuple[Check, ...]:
        """Every line of `alita doctor`, with a small real call of each model; never raises."""
        from alita_tui.sandbox.setup import diagnose

        settings = [
            Check(name="settings", state="problem", detail=problem.message, hint=problem.hint)
            for problem in self.loaded.problems
        ] or [Check(name="settings", state="ok", detail=str(self.paths.config_file))]
        models, sandbox = await asyncio.gather(self._check_models(), diagnose(self.sandbox_settings()))
        return (*settings, *models, *sandbox)

    async def _check_models(self) -> tuple[Check, ...]:
        if self.demo:
            none = Check(
                name="model",
                state="warning",
                detail="none configured; the recorded demo model is used",
                hint="Run `alita setup`, or set ALITA_MODEL=provider:name and the provider's key.",
            )
            return (none,)
        try:
            entries = {one.text: one for role in get_args(ModelRole) for one in self.candidates(role)}
        except ConfigError as error:
            return (Check(name="model", state="problem", detail=error.message, hint=error.hint),)
        return tuple(await asyncio.gather(*map(self._check_model, entries.values())))

    async def _check_model(self, entry: ModelEntry) -> Check:
        result = await self.probe(entry)
        if not result.ok:
            return Check(name="model", state="problem", detail=result.text, hint=result.hint)
        lacks = [what for what, there in (("tool calls", result.calls_tools), ("usage", result.reports_usage),
                                          ("known price", result.has_price)) if not there]  # fmt: skip
        lacking = f"; without {', '.join(lacks)}" if lacks else ""
        detail = f"{entry.full_name} answers in {result.total_ms / 1000:.1f} s{lacking}"
        return Check(name="model", state="ok", detail=detail)


def _caps(chosen: BudgetSettings) -> Budget:
    from alita_tui.agent.budget import Budget, Cap

    return Budget(
        task=Cap(usd=chosen.task_usd or None, tokens=chosen.task_tokens or None),
        session=Cap(usd=chosen.session_usd or None, tokens=chosen.session_tokens or None),
        day=Cap(usd=chosen.day_usd or None, tokens=chosen.day_tokens or None),
    )


def _asker(house: House, bus: Bus, models: Roster, questions: Questions) -> ModelCalls:
    """Model calls that are told on this bus and paid from the budget of its session."""
    from alita_tui.agent.calling import ModelCalls
    from alita_tui.agent.purse import Purse

    book = None if models.recorded else house.spend_book(bus.session_id)
    purse = Purse(bus, _caps(house.loaded.settings.budget), questions, new_id, book=book)
    replies = None if models.recorded else house.replies(bus.redacted)
    return ModelCalls(bus, models.router, purse, new_id, cache=replies, cached=house.cached_roles)


class _Unwritten:
    """Meets `Recorder` where there is no session to write."""

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        """Nothing: whoever listens to the bus is all there is."""


async def run_tool(
    house: House,
    record: ToolRecord,
    arguments: Json,
    on_output: OnOutput,
    tell: Callable[[e.BrokerAnswered], Coroutine[None, None, None]],
) -> RunReport:
    """One run of an approved tool outside of any session, with what it is granted.

    Raises SandboxUnavailable, RequirementsError, ConfigError.
    """
    from alita_tui.agent.questions import Questions

    job = Job(
        run_id=new_id(), module=record.draft.name, code=record.draft.code, arguments=arguments, lock=record.lock,
        limits=house.limits, capabilities=record.granted, digest=record.digest,
    )  # fmt: skip
    async with AsyncExitStack() as parts:
        asker = None
        if record.granted.model_calls:
            models = await asyncio.to_thread(house.models)
            parts.push_async_callback(models.aclose)
            bus = Bus(f"run-{job.run_id}", _Unwritten(), now)
            asker = _asker(house, bus, models, Questions(bus, parks=True))
        sandbox = house.sandbox(f"run-{job.run_id}", broker=house.broker(tell, asker))
        parts.push_async_callback(sandbox.close)
        return await sandbox.run(job, on_output, lambda *_: None)


async def prove(house: House, draft: ToolDraft, progress: Progress) -> tuple[Proof, tuple[Envelope, ...]]:
    """Put a draft that no session builds to review and its own tests; the proof, and what was observed.

    Raises SandboxUnavailable.
    """
    from alita_tui.toolsmith.proving import Build, Prover

    bus = Bus("proof", _Unwritten(), now)
    sandbox = house.sandbox(f"proof-{new_id()}")
    prover = Prover(bus, sandbox, before=(), after=(), limits=house.limits, progress=progress)
    build = Build(
        build_id=new_id(), name=draft.name, version=house.shelf.next_version(draft.name),
        task="", goal=draft.description, parent=None, sources=(),
    )  # fmt: skip
    try:
        return await prover.prove(build, 1, draft, by=""), tuple(bus.history)
    finally:
        await sandbox.close()


def approve_starter(house: House, draft: ToolDraft, lock: Lock) -> ToolRecord:
    """Enter a person's approval of a starter in the audit and put it on the shelf.

    Raises RegistryError, StoreError.
    """
    digest, approval_id = build_digest(draft, lock), f"starter-{new_id()}"
    if refused := house.shelf.banned(draft.name, draft, digest):
        raise RegistryError(refused, hint="`alita tools bans` lists what is banned.")
    house.audit.append(
        who=getpass.getuser(),
        verdict="approved",
        digest=digest,
        name=draft.name,
        version=house.shelf.next_version(draft.name),
        session_id="",
        approval_id=approval_id,
        via="cli",
    )
    return house.shelf.register(
        draft, lock, approval_id=approval_id, digest=digest, sources=(), origin="starter"
    )


class LiveSource:
    """What the session holds already, then what happens. Meets `EventSource`."""

    def __init__(self, history: tuple[Envelope, ...], news: Subscription) -> None:
        self._history = history
        self._news = news

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        for envelope in self._history:
            yield envelope
        async for envelope in self._news:
            yield envelope


class Live:
    """One open session: its file, its engine, its stream. Meets `CommandSink`."""

    def __init__(
        self, house: House, file: SessionFile, models: Roster, redactor: Redactor, *, parks: bool
    ) -> None:
        from alita_tui.agent.orchestrator import Orchestrator, Policy
        from alita_tui.agent.questions import Questions
        from alita_tui.agent.working import WorkingContext
        from alita_tui.registry.lent import LendingShelf
        from alita_tui.toolsmith.gate import Gate
        from alita_tui.toolsmith.proving import Prover
        from alita_tui.toolsmith.smith import Smith

        self._house = house
        self._file = file
        self._models = models
        self.session_id = file.session_id
        history = file.envelopes()
        retry = None if parks else RETRY_SECONDS  # where nobody looks on, waiting helps nobody
        self.bus = Bus(file.session_id, file, now, history=history, redactor=redactor, retry=retry)
        self.source = LiveSource(history, self.bus.subscribe())
        self._checked: SandboxStatus | None = None
        self._served = asyncio.Event()
        self._warming: asyncio.Task[None] | None = None
        self.seen: Callable[[], SessionView] | None = None
        """Gives a view of this session from whoever folds it anyway; closing folds only what came after."""
        self._web = house.web(self.bus.redacted)
        self._loop = asyncio.get_running_loop()
        budget = house.loaded.settings.budget
        questions = Questions(self.bus, parks=parks)
        asker = _asker(house, self.bus, models, questions)
        broker = house.broker(self._brokered, asker)
        self._sandbox = house.sandbox(file.session_id, pool=True, broker=broker)
        shelf = LendingShelf(house.shelf)
        gate = Gate(
            self.bus,
            house.desk,
            me=getpass.getuser(),
            parks=parks,
            settled=self._settled,
            rule=self._ruled,
        )
        before, after = gates(house, self._sandbox, asker, self._web, shelf)
        prover = Prover(
            self.bus,
            self._sandbox,
            before=before,
            after=after,
            limits=house.limits,
            progress=self._progress,
        )
        smith = Smith(
            self.bus,
            asker,
            prover,
            shelf,
            gate,
            max_repairs=budget.max_repairs,
            model_name=models.name,
            new_id=new_id,
        )
        self.engine: Orchestrator = Orchestrator(
            self.bus,
            asker,
            smith,
            gate,
            shelf,
            self._sandbox,
            house.memory,
            self._web,
            questions,
            WorkingContext(self.bus, asker, lambda: models.router.window("orchestrator")),
            policy=Policy(
                max_steps=budget.max_steps, reply_tokens=budget.reply_tokens, run_limits=house.limits
            ),
            learn=self._learn,
            new_id=new_id,
            progress=self._progress,
        )

    def send(self, command: Command) -> None:
        """See `CommandSink.send`."""
        if isinstance(command, CloseSession):
            self.bus.leave()
        self.engine.send(command)

    async def run(self, *, until_idle: bool = False) -> None:
        """Open or take up the session, serve it, let it go in good order."""
        await self._open()
        try:
            await self.engine.run(until_idle=until_idle)
        finally:
            await self._close()

    async def _open(self) -> None:
        if self.bus.history:
            restored = self._file.restored
            await asyncio.to_thread(self._settle_again)
            strange = sum(
                isinstance(one.event, e.UnknownEvent) and one.event.raw != "" for one in self.bus.history
            )
            unread = f"{strange} of them cannot be read by this version" if strange else ""
            note = "; ".join(filter(None, (unread, restored.note)))
            await self.bus.emit(e.SessionResumed(restored=restored.events, note=note))
        else:
            opened = e.SessionOpened(
                model=self._models.name, recorded=self._models.recorded, version=__version__
            )
            await self.bus.emit(opened)
        for problem in self._models.problems:
            await self.bus.emit(e.NoticeRaised(level="warning", text=problem.message, hint=problem.hint))
        await self.bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._house.shelf.cards)))
        await self._check_sandbox(await self._sandbox.status())
        self._served.set()

    # --- upkeep: what a person looks at and does around the session --------------------------

    async def look(self) -> Inventory:
        """See the console's `Upkeep.look`. Raises SandboxUnavailable."""
        await self._served.wait()
        status = await self._sandbox.status()
        await self._check_sandbox(status)
        return await self._sandbox.inventory() if status.available else Inventory(at=now().timestamp())

    async def reap(self) -> tuple[int, int]:
        """See the console's `Upkeep.reap`. Raises SandboxUnavailable."""
        await self._served.wait()
        return await self._sandbox.reap()

    async def rebuild(self) -> None:
        """See the console's `Upkeep.rebuild`. Raises SandboxUnavailable."""
        await self._served.wait()
        await self._check_sandbox(await self._sandbox.rebuild(self._progress))

    async def _check_sandbox(self, status: SandboxStatus) -> None:
        """Tell the stream when the sandbox is not what it was, and start containers ahead."""
        if status == self._checked:
            return
        self._checked = status
        await self.bus.emit(e.SandboxChecked(status=status))
        if status.available:
            await self._cool_down()
            self._warming = asyncio.create_task(self._warm_up())

    async def _cool_down(self) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait((self._warming,))

    async def _warm_up(self) -> None:
        """Start containers ahead; what stands in the way the first run will say."""
        with suppress(SandboxUnavailable):
            await self._sandbox.warm_up(self._house.limits, lambda *_: None)

    async def _close(self) -> None:
        """Let everything go, each part even where another fails."""
        self.bus.leave()
        async with AsyncExitStack() as parts:
            parts.push_async_callback(asyncio.to_thread, self._file.close)
            parts.push_async_callback(self._models.aclose)
            parts.push_async_callback(self._web.close)
            parts.push_async_callback(self._sandbox.close)
            parts.push_async_callback(self._cool_down)
            parts.callback(self.bus.close)
            seen = self.seen() if self.seen is not None else None
            await self.bus.emit(e.SessionClosed(state=await asyncio.to_thread(self._state, seen)))

    def _state(self, seen: SessionView | None) -> str:
        from alita_tui.view.fingerprint import fingerprint
        from alita_tui.view.fold import fold_all

        news = bisect_right(self.bus.history, seen.seq, key=lambda one: one.seq or 0) if seen else 0
        return fingerprint(fold_all(islice(self.bus.history, news, None), seen))

    def _progress(self, work: str, done: float, total: float, detail: str) -> None:
        hint = e.Progressed(work=work, done=done, total=total, detail=detail)
        self._loop.call_soon_threadsafe(self.bus.hint, hint)

    async def _brokered(self, answered: e.BrokerAnswered) -> None:
        await self.bus.emit(answered, span=answered.call_id)

    def _settled(self, request: e.ApprovalRequested, _decision: Decision) -> None:
        """A verdict is on record in the session: enter it in the audit, clear the desk."""
        from alita_tui.view.queries import build_of
        from alita_tui.view.seen import evidence

        ours = [one for one in self.bus.history if getattr(one.event, "build_id", "") == request.build_id]
        verdicts = (one.event for one in reversed(ours) if isinstance(one.event, e.ApprovalResolved))
        verdict = next(one for one in verdicts if one.approval_id == request.approval_id)
        made = build_of(ours, request.build_id)
        self._house.audit.enter(self.session_id, request, verdict, evidence(made) if made else ())
        with suppress(StoreError):  # what is left of it goes when the session is taken up
            self._house.desk.taken(request.approval_id)

    def _ruled(self, request: e.ApprovalRequested) -> Decision | None:
        """The verdict of a rule of the person's; none, and a notice, where their policy cannot be read."""
        try:
            return ruling(self._house, self.bus.history, request)
        except ConfigError as error:
            notice = e.NoticeRaised(
                level="warning", text=f"No rule is asked. {error.message}", hint=error.hint
            )
            asyncio.run_coroutine_threadsafe(self.bus.emit(notice), self._loop).result()
            return None

    def _settle_again(self) -> None:
        """What a crash kept from following a verdict."""
        for approval_id in self._house.audit.catch_up(self.session_id, self.bus.history):
            self._house.desk.taken(approval_id)

    def _learn(self, task_id: str) -> tuple[MemoryItem, ...]:
        from alita_tui.memory.recall import episode, recipe

        history = tuple(self.bus.history)
        return (*episode(history, task_id), *recipe(history, task_id))


def ruling(house: House, envelopes: Iterable[Envelope], request: e.ApprovalRequested) -> Decision | None:
    """What the first rule that covers a build decides on it. Raises ConfigError, StoreError."""
    from alita_tui.toolsmith.gate import Decision
    from alita_tui.view.policy import unmet
    from alita_tui.view.queries import build_of

    rules = house.policy.rules
    made = build_of(envelopes, request.build_id) if rules else None
    attempt = made.presented if made else None
    if made is None or attempt is None:
        return None
    known, today = house.known_packages(), now().astimezone().date()
    for rule in rules:
        if not unmet(rule, made, attempt, known, today):
            verdict = ResolveApproval(
                approval_id=request.approval_id,
                digest=attempt.build_digest,
                verdict="approved",
                reason=f"{rule.reach} (rule sha256 {rule.digest[:12]})",
                lasting=rule.lasting,
                via="policy",
            )
            return Decision(command=verdict, by=f"rule {rule.name}")
    return None


def lineage(house: House, name: str) -> Lineage:
    """A tool's versions and moves, with what building each took. Raises RegistryError; may read sessions."""
    import msgspec

    from alita_tui.view.fold import fold_all

    found = house.lineages("console").of(name)
    entries = [entry for entry in house.audit.entries() if entry.name == name and entry.on_build]
    approved = {entry.approval_id: entry for entry in entries}
    spent: dict[int, float] = {}
    folded: set[str] = set()
    for record in found.versions:
        entry = approved.get(record.approval_id)
        if entry is None or entry.session_id in folded:
            continue
        folded.add(entry.session_id)
        with suppress(StoreError, UsageError):
            shares = fold_all(recording(house, entry.session_id)).spend.by_tool
            for share in shares:
                if share.name == name:
                    spent[record.version] = share.usd
    return msgspec.structs.replace(found, spent_usd=spent)


def gates(
    house: House, sandbox: Sandbox, asker: Asker, index: PackageIndex, shelf: ToolShelf
) -> tuple[tuple[Gate, ...], tuple[Gate, ...]]:
    """What drafts are put through before anything of them runs, and after their own tests."""
    from alita_tui.toolsmith.gates.case import Workbench
    from alita_tui.toolsmith.gates.declared import Declared
    from alita_tui.toolsmith.gates.examples import Examples
    from alita_tui.toolsmith.gates.hidden import Hidden
    from alita_tui.toolsmith.gates.literals import Literals
    from alita_tui.toolsmith.gates.mutation import Mutation
    from alita_tui.toolsmith.gates.neighbours import Neighbours
    from alita_tui.toolsmith.gates.packages import Requirements
    from alita_tui.toolsmith.gates.replay import Replayed

    bench = Workbench(sandbox, house.limits)
    return (Requirements(index, now),), (
        Examples(bench),
        Declared(bench),
        Literals(),
        Mutation(bench),
        Hidden(bench, asker),
        Neighbours(bench, shelf),
        Replayed(bench, house.past_calls),
    )


def open_file(house: House, which: str | None) -> SessionFile:
    """A session's file, opened for going on, or a new one. Raises UsageError, StoreLocked, StoreError."""
    from alita_tui.store.sessions import SessionFile

    if which is None:
        session_id = house.sessions.new_id()
        return SessionFile.create(house.sessions.path(session_id), session_id)
    return SessionFile.open(house.sessions.find(which))


async def live(house: House, which: str | SessionFile | None = None, *, parks: bool) -> Live:
    """A session with its engine, not yet running. Raises what `open_file` and `House.models` raise."""
    models = await asyncio.to_thread(house.models)
    redactor = await asyncio.to_thread(house.redactor)
    if which is None or isinstance(which, str):
        file = await asyncio.to_thread(open_file, house, which)
    else:
        file = which
    return Live(house, file, models, redactor, parks=parks)


def path_of(house: House, which: str | None) -> Path:
    """The file of a session, by default the newest one's. Raises UsageError, StoreError."""
    if which is not None:
        return house.sessions.find(which)
    latest = house.sessions.latest()
    if latest is None:
        raise UsageError("There is no session yet.", hint="Begin one with `alita`.")
    return Path(latest.path)


def recording(house: House, which: str | None) -> tuple[Envelope, ...]:
    """The durable envelopes of a session, its file or an export of it as JSON lines, read only.

    Raises UsageError, StoreError.
    """
    from alita_tui.store.sessions import SessionFile

    if which is not None and which.endswith(".jsonl"):
        from alita_tui.replay.export_jsonl import read_jsonl

        return tuple(read_jsonl(Path(which)))
    file = SessionFile.open(path_of(house, which), readonly=True)
    try:
        return file.envelopes()
    finally:
        file.close()


def past_calls(envelopes: tuple[Envelope, ...], name: str) -> list[PastCall]:
    """Calls of a tool that returned, the newest first."""
    called: dict[str, object] = {}
    found: list[PastCall] = []
    for envelope in envelopes:
        match envelope.event:
            case e.ToolCalled(call_id=call_id, name=called_name, arguments=arguments) if called_name == name:
                called[call_id] = arguments
            case e.ToolReturned(call_id=call_id, report=report) if call_id in called:
                found.append(PastCall(arguments=called[call_id], result=report.result))
            case _:
                pass
    return found[::-1]


async def rerun(house: House, envelopes: Sequence[Envelope]) -> AsyncGenerator[Rerun, None]:
    """Do again what a session recorded, with its recorded replies. Raises SandboxUnavailable."""
    from alita_tui.agent.rerun import Rerunner

    sandbox = house.sandbox("rerun")
    try:
        async for one in Rerunner(sandbox, house.shelf, house.limits).run(envelopes):
            yield one
    finally:
        await sandbox.close()


def interactive() -> bool:
    """True when a full-screen console can be drawn and keys can be read."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def need_terminal() -> None:
    """Raises ConfigError where no console can be drawn."""
    if not interactive():
        raise ConfigError(
            "This is no terminal that a full-screen console can be drawn on.",
            hint='Use `alita run "TASK"` here.',
        )


async def close(session: Live, running: asyncio.Task[None]) -> None:
    """Ask a running session to end and wait until it has."""
    session.send(CloseSession())
    await running
