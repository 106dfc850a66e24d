"""Everything that alita is made of besides a running session, built from paths and settings when first needed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from alita_tui.config.guarding import refusals
from alita_tui.config.load import Loaded, load
from alita_tui.config.paths import Paths, locate, shipped
from alita_tui.spine.errors import ConfigError, StoreError
from alita_tui.spine.events import ModelRole
from alita_tui.spine.ports import Asker, Limits
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.values import (
    MOVED,
    TAKEN_BACK,
    Json,
    Move,
    ToolRecord,
)
from alita_tui.wiring.identity import now

if TYPE_CHECKING:
    from alita_tui.config.models import ModelEntry
    from alita_tui.config.policy import Policy
    from alita_tui.llm.cache import ReplyStore
    from alita_tui.llm.factory import ModelSpec, ProbeResult
    from alita_tui.llm.roster import Roster
    from alita_tui.memory.recall import Recollection
    from alita_tui.registry.lineage import Lineages
    from alita_tui.registry.shelf import Shelf
    from alita_tui.registry.starters import Starters
    from alita_tui.sandbox.broker.broker import Broker
    from alita_tui.sandbox.broker.grants import Tell
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.store.audit import AuditLog
    from alita_tui.store.backups import Backups
    from alita_tui.store.desk import Desk
    from alita_tui.store.documents import CleanDocuments, DocumentTable
    from alita_tui.store.labels import Labels
    from alita_tui.store.search import SessionSearch
    from alita_tui.store.sessions import SessionShelf
    from alita_tui.store.spend import SpendBook
    from alita_tui.web.client import WebRoom


T = TypeVar("T", bound="DocumentTable | SpendBook")

_HOUSES: list[House] = []
"""All that this process has opened."""


def close_all() -> None:
    """Let all houses go in good order: the last thing a process does."""
    while _HOUSES:
        _HOUSES.pop().close()


DEMO_SCRIPT = "demo.script.json"
"""The recorded model's replies, among the shipped sessions."""


@dataclass
class House:
    """Folders, settings and the long-lived parts of one process, each built when first used."""

    paths: Paths
    loaded: Loaded
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    flags: Mapping[str, object] = field(default_factory=dict)
    _opened: list[DocumentTable | SpendBook] = field(default_factory=list, repr=False)
    """Files that are to be folded in the end, so that anyone can read them."""

    def __post_init__(self) -> None:
        _HOUSES.append(self)

    def close(self) -> None:
        """Fold what was written to the files that processes share; what cannot be folded stays in its journal."""
        while self._opened:
            with suppress(StoreError):
                self._opened.pop().close()

    @classmethod
    def open(
        cls, home: Path | None = None, flags: Mapping[str, object] | None = None, *, strict: bool = True
    ) -> House:
        """Find the folders, read the settings. Raises ConfigError, also where others may write in them."""
        environ = dict(os.environ)
        paths = locate(home, environ)
        found = refusals(paths)
        if found and strict:
            raise found[0]
        loaded = load(paths, environ, flags, strict=strict)
        loaded = replace(loaded, problems=(*found, *loaded.problems))
        return cls(paths, loaded, environ, flags or {})

    @cached_property
    def sessions(self) -> SessionShelf:
        """All session files."""
        from alita_tui.store.sessions import SessionShelf

        self._prepare()
        return SessionShelf(self.paths.sessions, now)

    def _prepare(self) -> None:
        """Make the folders; on a read-only disk what is there can be looked at all the same. Raises StoreError."""
        try:
            self.paths.prepare()
        except StoreError:
            if not self.paths.sessions.is_dir():
                raise

    @cached_property
    def labels(self) -> Labels:
        """What the person added to sessions."""
        from alita_tui.store.labels import Labels

        self._prepare()
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

        return Desk(self.paths.desk, self.sessions, now, redactor=self.redactor(), sealing=self.audit)

    @cached_property
    def audit(self) -> AuditLog:
        """The log of all verdicts."""
        from alita_tui.store.audit import AuditLog

        return AuditLog(self.paths.audit, self.paths.audit_key_folder, now)

    @cached_property
    def shelf(self) -> Shelf:
        """The library of tools."""
        from alita_tui.registry.shelf import Shelf
        from alita_tui.store.approvals import AuditedApprovals

        return Shelf(self.tool_documents, self.paths.mcp_box, now, approvals=AuditedApprovals(self.audit))

    @cached_property
    def tool_documents(self) -> DocumentTable:
        """The library's own documents."""
        self.paths.prepare()
        return self._documents(self.paths.registry, "tools")

    def lineages(self, via: str) -> Lineages:
        """Versions of tools, and what is done with them by `console` or `cli`; every move is audited first.

        What the log has and the library does not is mended.
        """
        from alita_tui.registry.lineage import Lineages

        def tell(move: Move, record: ToolRecord) -> None:
            done = MOVED[move.kind]
            before, after = (move.after, move.before) if move.undone else (move.before, move.after)
            self.audit.append(
                who=move.by, verdict=TAKEN_BACK + done if move.undone else done, digest=record.digest,
                name=move.name, version=move.version, session_id="", approval_id=record.approval_id,
                reason=move.reason, via=via, alias=(move.before or move.after) if "alias" in move.kind else "",
                move=move.kind, before=before, after=after,
            )  # fmt: skip

        found = Lineages(self.shelf, self.tool_documents, tell, now)
        with suppress(StoreError):  # what cannot be mended here holds all the same
            found.repair()
        return found

    @cached_property
    def starters(self) -> Starters:
        """Tools that come with alita and wait for an approval."""
        from alita_tui.registry.starters import Starters

        return Starters(shipped("starters"))

    @property
    def policy(self) -> Policy:
        """The rules that may approve, as their file has them now. Raises ConfigError, StoreError.

        A rule that was taken back stays so, whatever the file says of it since.
        """
        from alita_tui.config.policy import load_policy

        found = load_policy(self.paths.policy)
        return found.without(self.shelf.standing().revoked_rules) if found.rule else found

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
        folders, logs = {paths.mcp_box.name: paths.mcp_box}, {paths.audit.name: paths.audit}
        return Backups(paths.backups, databases, folders, now, logs=logs)

    def _documents(self, path: Path, table: str) -> DocumentTable:
        """A table that is backed up before it is upgraded. Raises StoreError."""
        from alita_tui.store.documents import DocumentTable

        self.backups.before_upgrade(path)
        return self._folded_later(DocumentTable(path, table))

    def _folded_later(self, opened: T) -> T:
        self._opened.append(opened)
        return opened

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
        from alita_tui.spine.secret_rules import library_rules
        from alita_tui.wiring.granted import model_keys

        return Redactor((*model_keys(self), *self.loaded.unwritten, *self._granted), library_rules())

    @cached_property
    def _granted(self) -> tuple[tuple[str, str], ...]:
        from alita_tui.wiring.granted import granted

        return granted(self.shelf, self.secret)

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
        return CleanDocuments(self._folded_later(DocumentTable(path, table)), redacted)

    @property
    def cached_roles(self) -> frozenset[ModelRole]:
        """The roles that may be answered from the cache; the orchestrator only where the settings say so."""
        asked = self.loaded.settings.models.cache
        return frozenset(role for role in get_args(ModelRole) if asked or role != "orchestrator")

    def spend_book(self, session_id: str) -> SpendBook:
        """What is spent today, over all sessions. Raises StoreError."""
        from alita_tui.store.spend import SpendBook

        self.paths.prepare()
        book = SpendBook(self.paths.spend, session_id, lambda: now().astimezone().date())
        return self._folded_later(book)

    @property
    def workspace(self) -> Path:
        """The folder whose files a tool may be granted."""
        chosen = self.loaded.settings.sandbox.workspace
        return Path(chosen).expanduser() if chosen else self.paths.data / "workspace"

    def secret(self, name: str) -> str | None:
        """A secret by its name, from the environment, `.env` or the keyring; may block."""
        from alita_tui.llm.keys import find_key

        return find_key("", env_file=self.paths.env_file, environ=self.environ, name=name)

    def broker(self, tell: Tell, models: Asker | None, redactor: Redactor | None = None) -> Broker:
        """What approved tools are granted, and whom each of their requests is told. Raises ConfigError."""
        from alita_tui.sandbox.broker.broker import Broker
        from alita_tui.spine.address import AddressPolicy
        from alita_tui.web.dns import system_resolver
        from alita_tui.wiring.granted import told_first

        allowed = self.loaded.settings.sandbox.allowed_private
        policy = AddressPolicy(system_resolver, allowed, setting="sandbox.allowed_private")
        keys = self.secret if redactor is None else told_first(redactor, self.secret)
        return Broker(
            policy, tell, workspace=self.workspace, secret=keys, models=models, environ=self.environ
        )

    def sandbox(
        self, session_id: str, *, pool: bool = False, broker: Broker | None = None, profile: str = ""
    ) -> Fleet:
        """The wall around generated code; with `pool` containers may be started ahead.

        `profile` goes before the one of the settings.
        """
        import msgspec

        from alita_tui.sandbox.fleet import Fleet
        from alita_tui.wiring.sandboxes import sandbox_settings

        settings = sandbox_settings(self.paths, self.loaded.settings.sandbox)
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
