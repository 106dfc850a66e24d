"""The composition root: folders, settings and the long-lived parts of one process, built when first used."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from alita_tui.app.identity import now
from alita_tui.config.guarding import refusals
from alita_tui.config.load import Loaded, load
from alita_tui.config.paths import Paths, locate, shipped
from alita_tui.events import MOVED, TAKEN_BACK, Json, ModelRole, Move, ToolRecord
from alita_tui.spine.errors import ConfigError, StoreError
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.spine.redaction import Redactor
from alita_tui.store.entry import AuditEntry

if TYPE_CHECKING:
    from alita_tui.app.lending import Lent
    from alita_tui.config.models import ModelEntry
    from alita_tui.config.policy import Policy
    from alita_tui.llm.cache import ReplyStore
    from alita_tui.llm.factory import ModelSpec, ProbeResult
    from alita_tui.llm.roster import Roster
    from alita_tui.memory.recall import Recollection
    from alita_tui.registry.library import ToolLibrary
    from alita_tui.registry.lineage import Lineages
    from alita_tui.registry.starters import Starters
    from alita_tui.sandbox.broker.broker import Broker
    from alita_tui.sandbox.broker.grants import Tell
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.sandbox.settings import EngineSettings
    from alita_tui.store.audit import AuditLog
    from alita_tui.store.backups import Backups
    from alita_tui.store.documents import CleanDocuments, DocumentTable
    from alita_tui.store.labels import Labels
    from alita_tui.store.search import SessionSearch
    from alita_tui.store.sessions import SessionStore
    from alita_tui.store.spend import SpendBook
    from alita_tui.store.verdict_inbox import VerdictInbox
    from alita_tui.web.client import WebRoom

T = TypeVar("T", bound="DocumentTable | SpendBook")

DEMO_SCRIPT = "demo.script.json"
"""The recorded model's replies, among the shipped sessions."""

_OPENED: list[AppContext] = []
"""All contexts of this process."""


def close_all() -> None:
    """Close every context; the last thing a process does."""
    while _OPENED:
        _OPENED.pop().close()


@dataclass
class AppContext:
    """What all parts of one process share. A property imports and builds its part when it is first read."""

    paths: Paths
    loaded: Loaded
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    flags: Mapping[str, object] = field(default_factory=dict)
    lent: Lent | None = field(default=None, repr=False)
    """Parts of another context that are used in place of this one's own; for the cases of an evaluation."""
    left_out: frozenset[str] = frozenset()
    """Parts that an evaluation switches off: `learning`, `hidden-tests`."""
    described: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Names and descriptions of additional tools that can be found in an evaluation; none of them can run."""
    _files: list[DocumentTable | SpendBook] = field(default_factory=list, repr=False)
    """Open files whose journals are folded on closing."""

    def __post_init__(self) -> None:
        _OPENED.append(self)

    @classmethod
    def open(
        cls, home: Path | None = None, flags: Mapping[str, object] | None = None, *, strict: bool = True
    ) -> AppContext:
        """Locate the folders and read the settings.

        Raises ConfigError for wrong settings, and where others may write in the folders. With `strict=False`
        both are listed in `loaded.problems` instead.
        """
        environ = dict(os.environ)
        paths = locate(home, environ)
        refused = refusals(paths)
        if refused and strict:
            raise refused[0]
        loaded = load(paths, environ, flags, strict=strict)
        loaded = replace(loaded, problems=(*refused, *loaded.problems))
        return cls(paths, loaded, environ, flags or {})

    def close(self) -> None:
        """Fold the journals of the files that processes share, so that plain TinyDB can read them.

        A journal that cannot be folded stays, and is read the next time.
        """
        while self._files:
            with suppress(StoreError):
                self._files.pop().close()

    # --- store ----------------------------------------------------------------------------------

    @cached_property
    def sessions(self) -> SessionStore:
        """All session files."""
        from alita_tui.store.sessions import SessionStore

        self._prepare()
        return SessionStore(self.paths.sessions, now)

    def _prepare(self) -> None:
        """Make the folders. On a read-only disk, folders that exist can still be read. Raises StoreError."""
        try:
            self.paths.prepare()
        except StoreError:
            if not self.paths.sessions.is_dir():
                raise

    @cached_property
    def labels(self) -> Labels:
        """Titles, tags and bookmarks that the person gave sessions."""
        from alita_tui.store.labels import Labels

        self._prepare()
        documents = self.documents(self.paths.labels, "labels")
        return Labels(documents, now, redact=lambda text: self.redactor().text(text))

    @cached_property
    def session_search(self) -> SessionSearch:
        """Full-text search over all sessions."""
        from alita_tui.store.search import SessionSearch

        return SessionSearch(self.paths.session_search, self.sessions)

    @cached_property
    def inbox(self) -> VerdictInbox:
        """Parked builds, and verdicts left for the sessions that parked them."""
        from alita_tui.store.verdict_inbox import VerdictInbox

        return VerdictInbox(self.paths.desk, self.sessions, now, redactor=self.redactor(), sealing=self.audit)

    @cached_property
    def audit(self) -> AuditLog:
        """The signed log of all verdicts."""
        from alita_tui.store.audit import AuditLog

        return AuditLog(self.paths.audit, self.paths.audit_key_folder, now)

    @cached_property
    def backups(self) -> Backups:
        """Backups of library, memory and labels."""
        from alita_tui.store.backups import Backups

        paths = self.paths
        documents = (paths.registry, paths.memory, paths.labels, paths.servers, paths.skills)
        databases = {path.name: path for path in documents}
        folders = {path.name: path for path in (paths.mcp_box, paths.skill_files)}
        logs = {paths.audit.name: paths.audit}
        return Backups(paths.backups, databases, folders, now, logs=logs)

    @cached_property
    def memory(self) -> Recollection:
        """Lessons of earlier tasks."""
        from alita_tui.app.memory import recollection

        return recollection(self)

    def spend_book(self, session_id: str) -> SpendBook:
        """Return the book of what all sessions spent today. Raises StoreError."""
        from alita_tui.store.spend import SpendBook

        if self.lent is not None:
            return self.lent.book.another(session_id)
        self.paths.prepare()
        book = SpendBook(self.paths.spend, session_id, lambda: now().astimezone().date())
        return self._close_later(book)

    def documents(self, path: Path, table: str) -> DocumentTable:
        """Open a table, backed up first if it needs an upgrade. Raises StoreError."""
        from alita_tui.store.documents import DocumentTable

        self.backups.before_upgrade(path)
        return self._close_later(DocumentTable(path, table))

    def _cached(self, path: Path, table: str, redacted: Callable[[Json], Json]) -> CleanDocuments:
        """Open a table of a cache, whose loss does no harm; blocks on the disk."""
        from alita_tui.store.documents import CleanDocuments, DocumentTable

        self.paths.prepare()
        return CleanDocuments(self._close_later(DocumentTable(path, table)), redacted)

    def _close_later(self, file: T) -> T:
        self._files.append(file)
        return file

    # --- tools ----------------------------------------------------------------------------------

    @cached_property
    def library(self) -> ToolLibrary:
        """The library of tools."""
        from alita_tui.app.encoding import finder
        from alita_tui.registry.described import library_factory
        from alita_tui.store.approvals import AuditedApprovals

        audited, paths = AuditedApprovals(self.audit), self.paths
        create_library = library_factory(self.described)
        return create_library(self.tool_documents, paths.mcp_box, now, approvals=audited, finder=finder(self))

    @cached_property
    def tool_documents(self) -> DocumentTable:
        """The library's documents: records, bans, aliases, moves."""
        self.paths.prepare()
        return self.documents(self.paths.registry, "tools")

    def lineages(self, via: str) -> Lineages:
        """Return the versions of tools, to look at and to change via `console` or `cli`.

        A change is entered in the audit log before the library is written. Changes that the log has but the library
        lacks are applied here.
        """
        from alita_tui.registry.lineage import Lineages

        def enter(move: Move, record: ToolRecord) -> None:
            change = MOVED[move.kind]
            before, after = (move.after, move.before) if move.undone else (move.before, move.after)
            self.audit.append(AuditEntry(
                who=move.by, verdict=TAKEN_BACK + change if move.undone else change, digest=record.digest,
                name=move.name, version=move.version, session_id="", approval_id=record.approval_id,
                reason=move.reason, via=via, alias=(move.before or move.after) if "alias" in move.kind else "",
                move=move.kind, before=before, after=after,
            ))  # fmt: skip

        lineages = Lineages(self.library, self.tool_documents, enter, now)
        with suppress(StoreError):  # the log counts even if the library cannot be written
            lineages.repair()
        return lineages

    @cached_property
    def starters(self) -> Starters:
        """Tools that ship with alita and wait for an approval."""
        from alita_tui.registry.starters import Starters

        return Starters(shipped("starters"))

    @property
    def policy(self) -> Policy:
        """The rules that may approve, read again from disk; a revoked rule stays revoked even if its file is restored.

        Raises ConfigError, StoreError.
        """
        from alita_tui.config.policy import load_policy

        policy = load_policy(self.paths.policy)
        return policy.without(self.library.standing().revoked_rules) if policy.rule else policy

    # --- models and secrets ---------------------------------------------------------------------

    @property
    def demo(self) -> bool:
        """True when the recorded model answers: the demo was asked for, or no model is configured."""
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
        """Return a role's models in order; a model given as a flag is the only one. Raises ConfigError."""
        from alita_tui.config.models import candidates

        flagged = self.loaded.origin("model.provider") == "flag"
        return candidates(self.loaded.settings, role, chosen=flagged or self.demo)

    def model_spec(self, entry: ModelEntry) -> ModelSpec:
        """Return how to open a model, with its key; the keyring may block. Raises ConfigError."""
        from alita_tui.llm.factory import ModelSpec
        from alita_tui.llm.keys import find_key
        from alita_tui.llm.prices import OwnPrice

        if entry.provider in ("", "demo"):
            return ModelSpec(provider="demo", script=str(shipped("sessions") / DEMO_SCRIPT))
        key = find_key(entry.provider, env_file=self.paths.env_file, environ=self.environ, name=entry.key)
        price = (
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
            own_price=price,
        )

    def models(self) -> Roster:
        """Return the models of all roles. Imports no SDK; the keyring may block. Raises ConfigError."""
        from alita_tui.llm.roster import Roster, Seat

        def seat(entry: ModelEntry) -> Seat:
            needs = frozenset(entry.abilities)
            spec = self.model_spec(entry)
            return Seat(spec=spec, context=entry.context, max_usd=entry.max_usd, needs=needs)

        from alita_tui.agent.role import seat_of
        from alita_tui.app.roles import own_models

        entries = {str(role): self.candidates(role) for role in get_args(ModelRole)}
        entries |= {seat_of(role): listed for role, listed in own_models(self).items()}
        return Roster({role: tuple(map(seat, listed)) for role, listed in entries.items()})

    async def probe(self, entry: ModelEntry) -> ProbeResult:
        """Make one small real call of a model; one that cannot be opened is a failed probe."""
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
        """Return the cache of replies to exactly repeated requests."""
        from alita_tui.llm.cache import ReplyStore

        return ReplyStore(lambda: self._cached(self.paths.replies, "replies", redacted))

    @property
    def cached_roles(self) -> frozenset[ModelRole]:
        """The roles that may be answered from the cache; the orchestrator only if the settings allow it."""
        allowed, acting = self.loaded.settings.models.cache, ("orchestrator", "specialist")
        return frozenset(role for role in get_args(ModelRole) if allowed or role not in acting)

    def secret(self, name: str) -> str | None:
        """Return a secret from the environment, `.env` or the keyring, which may block."""
        from alita_tui.llm.keys import find_key

        return find_key("", env_file=self.paths.env_file, environ=self.environ, name=name)

    def redactor(self) -> Redactor:
        """Return the redactor of all known secrets, for everything written or exported; the keyring may block."""
        from alita_tui.app.secrets import model_keys
        from alita_tui.spine.secret_rules import library_rules

        return Redactor((*model_keys(self), *self.loaded.unwritten, *self._tool_secrets), library_rules())

    @cached_property
    def _tool_secrets(self) -> tuple[tuple[str, str], ...]:
        from alita_tui.app.secrets import tool_secrets

        return tool_secrets(self.library, self.secret)

    # --- sandbox and web ------------------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        """Limits of one run."""
        from alita_tui.app.room_settings import run_limits

        return run_limits(self.loaded.settings.sandbox)

    @property
    def workspace(self) -> Path:
        """The folder whose files a tool may be granted."""
        chosen = self.loaded.settings.sandbox.workspace
        return Path(chosen).expanduser() if chosen else self.paths.data / "workspace"

    def sandbox_settings(self, *, pool: bool = False, profile: str = "") -> EngineSettings:
        """Return how the sandbox is set up; only with `pool` are containers started ahead."""
        from alita_tui.app.room_settings import sandbox_settings

        return sandbox_settings(self.paths, self.loaded, pool=pool, profile=profile)

    def sandbox(
        self, session_id: str, *, pool: bool = False, broker: Broker | None = None, profile: str = ""
    ) -> Fleet:
        """Return the sandbox that generated code runs in; `profile` replaces the one of the settings."""
        from alita_tui.sandbox.fleet import Fleet

        if self.lent is not None and not profile:
            return self.lent.sandbox.guest(broker)
        return Fleet(self.sandbox_settings(pool=pool, profile=profile), session_id, broker=broker)

    def broker(self, tell: Tell, models: Asker | None, redactor: Redactor | None = None) -> Broker:
        """Return the broker of granted capabilities; it reports each request to `tell`. Raises ConfigError."""
        from alita_tui.app.secrets import learned_first
        from alita_tui.sandbox.broker.broker import Broker
        from alita_tui.spine.address import AddressPolicy
        from alita_tui.web.dns import system_resolver

        allowed = self.loaded.settings.sandbox.allowed_private
        policy = AddressPolicy(system_resolver, allowed, setting="sandbox.allowed_private")
        secret = self.secret if redactor is None else learned_first(redactor, self.secret)
        return Broker(
            policy, tell, workspace=self.workspace, secret=secret, models=models, environ=self.environ
        )

    def web(self, redacted: Callable[[Json], Json], redactor: Redactor | None = None) -> WebRoom:
        """Return search and page reading. Pages with a secret are not cached; the redactor learns each key first."""
        from alita_tui.app.secrets import learned_first
        from alita_tui.web.client import WebRoom

        pages = cache(lambda: self._cached(self.paths.pages, "pages", redacted))
        secret = self.secret if redactor is None else learned_first(redactor, self.secret)
        return WebRoom(self.loaded.settings.web, environ=self.environ, pages=pages, secret=secret)
