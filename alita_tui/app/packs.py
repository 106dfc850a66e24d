"""Packs of tools: exported from this library, or read so that each tool can be reviewed, tested and approved here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from alita_tui.app.context import AppContext
from alita_tui.app.tool_export import without_secrets
from alita_tui.events import Lock, Source, ToolDraft, ToolRecord, Value
from alita_tui.registry.packs import LARGEST, SIGNED_AS, Evidence, Pack, Packed, archive_bytes, pack, read
from alita_tui.spine.errors import UsageError
from alita_tui.spine.grants import named_tools, tool_grants
from alita_tui.spine.history import of_kind
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.spine.envelope import Envelope
    from alita_tui.state.build import BuildState
    from alita_tui.view.risk import Risk


class Offered(Value, frozen=True):
    """A tool of a pack, as it would join this library."""

    packed: Packed
    draft: ToolDraft
    """Its draft, with the tools that it calls pinned to the versions that run here."""
    state: Literal["new", "here", "other version", "not yet"]
    """`here`: exactly these bytes run already. `not yet`: it cannot be approved, see `problem`."""
    problem: str = ""
    """Why it cannot be approved now."""


def export_pack(app: AppContext, path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Write tools, and those that they call, into a new file; return the names of all tools in it.

    Raises RegistryError for a tool that does not run, UsageError if the pack cannot be written, StoreError.
    """
    chosen: dict[str, ToolRecord] = {}
    for name in names:
        _add(app, chosen, app.library.get(name))
    redactor = app.redactor()
    entries = {entry.approval_id: entry for entry in app.audit.entries()}
    tools: list[tuple[ToolRecord, Evidence]] = []
    for record in chosen.values():
        record = without_secrets(app, record, consequence="It is not written into a pack")
        draft = record.draft
        entry = entries.get(record.approval_id)
        evidence = Evidence(
            approval_id=record.approval_id,
            approved_at=record.created_at,
            approved_via=entry.via if entry else "",
            accepted=entry.evidence if entry else (),
            reliability=app.library.reliability(draft.name, record.version).words,
            runs=record.runs,
            failures=record.failures,
            origin=record.origin,
            sources=tuple(source.url for source in record.sources),
        )
        tools.append((record, redactor.value(evidence)))
    manifest, files = pack(path.stem, tools)
    signature = app.audit.signed(SIGNED_AS, manifest)
    data = archive_bytes(manifest, files, app.audit.checked().public, signature)
    read(data)  # a pack that cannot be read back is not written
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise UsageError(f"{path} is there already.", hint="Choose another name, or move it away.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return tuple(sorted(chosen))


def _add(app: AppContext, chosen: dict[str, ToolRecord], record: ToolRecord) -> None:
    """Add a tool and those that it is pinned to. Raises RegistryError, UsageError."""
    if record.origin == "remote":
        raise UsageError(
            f"{record.draft.name} is a tool of a server, which cannot be handed on.",
            hint="Whoever wants it adds the server: alita mcp add",
        )
    added = chosen.setdefault(record.draft.name, record)
    if added.version != record.version:
        raise UsageError(
            f"The tools call {record.draft.name} in two versions, v{added.version} and v{record.version}.",
            hint="Have the older caller built again: `alita tools improve` proposes it.",
        )
    for grant in tool_grants(record.draft.capabilities):
        _add(app, chosen, app.library.get(grant.name, grant.version))


def read_pack(path: Path) -> Pack:
    """Read a pack file. Raises UsageError if it is not a pack, or is damaged."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    return read(data)


def signer(app: AppContext, pack: Pack) -> str:
    """Return who signed a pack, in words. Raises UsageError if its signature is invalid."""
    from alita_tui.store.seal import verifier

    if not verifier(pack.key, SIGNED_AS)(pack.manifest, pack.signature):
        raise UsageError(
            "The pack is refused: its signature does not hold.", hint="Ask whoever made it for another one."
        )
    ours = pack.key == app.audit.checked().public
    return "this home" if ours else f"the key {pack.key[:16]}…, which this home does not know"


def offered(app: AppContext, pack: Pack) -> tuple[Offered, ...]:
    """Return the tools of a pack as they would join this library; tools that others call come first."""
    offers = [_offer(app, packed) for packed in pack.tools]
    return tuple(
        sorted(offers, key=lambda offered: (len(named_tools(offered.draft.capabilities)), offered.draft.name))
    )


def _offer(app: AppContext, packed: Packed) -> Offered:
    from alita_tui.registry.task_library import TaskLibrary
    from alita_tui.runtimes.port import ContractError
    from alita_tui.toolsmith.contract import draft_from, normalise
    from alita_tui.toolsmith.pinning import pinned

    packed_draft = packed.draft
    capabilities = msgspec.structs.replace(
        packed_draft.capabilities, tools=named_tools(packed_draft.capabilities)
    )
    form = msgspec.json.decode(
        msgspec.json.encode(msgspec.structs.replace(packed_draft, capabilities=capabilities))
    )
    try:
        draft = normalise(draft_from(form))
    except ContractError as error:
        return Offered(
            packed=packed, draft=packed_draft, state="not yet", problem=f"it is not a tool: {error.message}"
        )
    try:
        draft = pinned(draft, TaskLibrary(app.library))
    except ContractError as error:
        return Offered(packed=packed, draft=draft, state="not yet", problem=error.message)
    if refused := app.library.banned(draft.name, draft, draft.digest):
        return Offered(packed=packed, draft=draft, state="not yet", problem=refused)
    versions = app.library.versions(draft.name)
    doubts = app.library.doubts()
    copies = [
        record
        for record in versions
        if record.draft.digest == draft.digest and (draft.name, record.version) not in doubts
    ]
    if any(record.state in ("provisional", "trusted", "stale") for record in copies):
        return Offered(packed=packed, draft=draft, state="here")
    return Offered(packed=packed, draft=draft, state="other version" if versions else "new")


class Tested(Value, frozen=True):
    """A tool of a pack that was reviewed and tested here."""

    problem: str
    """Why it cannot be approved; empty if it can."""
    lock: Lock
    build: BuildState
    risks: tuple[Risk, ...]


async def tested(app: AppContext, draft: ToolDraft) -> Tested:
    """Review and test a draft here with every check that asks no model. Raises SandboxUnavailable."""
    from alita_tui.app.tool_runs import prove
    from alita_tui.view.queries import build_of
    from alita_tui.view.risk import risks

    proof, events = await prove(app, draft, lambda *_: None, whole=True)
    build = build_of(events, _build_id(events))
    attempt = build.current if build is not None else None
    assert build is not None and attempt is not None
    build = msgspec.structs.replace(build, digest=attempt.build_digest)
    return Tested(problem=proof.problem, lock=proof.lock, build=build, risks=risks(build, attempt))


def _build_id(events: tuple[Envelope, ...]) -> str:
    from alita_tui.events import BuildStarted

    return next(of_kind(events, BuildStarted)).build_id


def approve(
    app: AppContext, pack: Pack, offered: Offered, result: Tested, accepted: tuple[str, ...]
) -> ToolRecord:
    """Enter the approval of a tested tool in the audit log and register it, with where it came from.

    Raises RegistryError, StoreError.
    """
    from alita_tui.app.tool_runs import approve_anew
    from alita_tui.events import Verdict
    from alita_tui.view.verdict_evidence import evidence

    verdict = Verdict(decision="approved", accepted=accepted)
    origin = f"the pack {pack.name}, signed by the key {pack.key[:16]}, there v{offered.packed.version}"
    source = Source(url=f"pack:{pack.name}", title=str(one_line(f"from {origin}", 200)), excerpt="")
    return approve_anew(
        app,
        offered.draft,
        result.lock,
        origin="imported",
        reason=f"from {origin}",
        evidence=evidence(msgspec.structs.replace(result.build, verdict=verdict)),
        sources=(source,),
    )


def differences(offered: Offered, lock: Lock) -> tuple[str, ...]:
    """Return how the packages that were resolved here differ from those that the pack's tool was approved with."""
    packed_versions, local_versions = _versions(offered.packed.lock), _versions(lock)
    changed_versions = tuple(
        f"{name} {local_versions.get(name, 'not needed')} here, {packed_versions.get(name, 'not needed')} there"
        for name in sorted({*packed_versions, *local_versions})
        if packed_versions.get(name) != local_versions.get(name)
    )
    # Only npm packages are compared: locks list the wheels for one machine, but npm has one archive for all.
    hashes = {package.label: package.hashes for package in offered.packed.lock.npm}
    changed = {
        package.label for package in lock.npm if hashes.get(package.label, package.hashes) != package.hashes
    }
    return changed_versions + tuple(
        f"{label} has another content here than there" for label in sorted(changed)
    )


def _versions(lock: Lock) -> dict[str, str]:
    """Return the versions by package name; npm can lock several versions of one package."""
    by_name: dict[str, set[str]] = {}
    for package in lock.packages:
        by_name.setdefault(package.name, set()).add(package.version)
    return {name: " and ".join(sorted(versions)) for name, versions in by_name.items()}
