"""Puts back into the library what the audit log knows was approved, from wherever its very bytes are still kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from alita_tui.registry.recovery import Recovery
from alita_tui.spine import events as e
from alita_tui.spine.errors import AlitaError, RegistryError
from alita_tui.spine.values import Capabilities, Lock, ToolDraft, ToolRecord, Value, build_digest
from alita_tui.wiring.damage import lost

if TYPE_CHECKING:
    from alita_tui.store.entry import AuditEntry
    from alita_tui.wiring.house import House


class Recovered(Value, frozen=True):
    """What became of one lost version."""

    name: str
    version: int
    source: str = ""
    """Where its bytes were; empty where they are nowhere."""
    problem: str = ""


def recover(house: House, name: str = "") -> tuple[Recovered, ...]:
    """Put back what is lost, of one tool or of all. Nothing is approved by it: the log has the approvals.

    Raises RegistryError where nothing of that name is lost, StoreError.
    """
    gone = [one for one in lost(house) if name in ("", one.name)]
    if name and not gone:
        raise RegistryError(
            f"Nothing of {name!r} is missing from the library.",
            hint="`alita tools list` shows what is there.",
        )
    done = tuple(_put_back(house, one) for one in gone)
    if any(one.source for one in done) and not house.shelf.standing().problem:
        house.lineages("cli")  # what was done with it since, such as a revocation, holds again
    return done


def _recovery(house: House) -> Recovery:
    return Recovery(house.tool_documents, house.paths.mcp_box)


def _put_back(house: House, entry: AuditEntry) -> Recovered:
    for source, draft, lock, grants in _copies(house, entry):
        same = build_digest(draft, lock) == entry.digest and draft.name == entry.name
        granted = None if grants is None else grants.items
        if same and granted == entry.grants and (grants is None or grants.within(draft.capabilities)):
            record = ToolRecord(
                draft=draft, version=entry.version, digest=entry.digest, state="provisional", lock=lock,
                approval_id=entry.approval_id, grants=grants, created_at=entry.at,
            )  # fmt: skip
            _recovery(house).put_back(record)
            return Recovered(name=entry.name, version=entry.version, source=source)
    nowhere = f"neither below `mcp_box` nor in session {entry.session_id or '-'}"
    said = f"its bytes (SHA-256 {entry.digest[:12]}) are {nowhere}"
    return Recovered(name=entry.name, version=entry.version, problem=said)


def _copies(house: House, entry: AuditEntry) -> Iterator[tuple[str, ToolDraft, Lock, Capabilities | None]]:
    """What may be it: its files, then the drafts of the session that it was approved in."""
    verdict: Capabilities | None = None
    drafts: list[tuple[ToolDraft, Lock]] = []
    if entry.session_id:
        try:
            verdict, drafts = _in_session(house, entry)
        except AlitaError:
            drafts = []  # the session is gone or cannot be read: its files may do
    try:
        draft, lock, granted = _recovery(house).files_of(entry.name, entry.version)
        yield "its files", draft, lock, None if entry.grants is None else verdict or granted
    except AlitaError:
        pass
    for draft, lock in drafts:
        yield f"session {entry.session_id}", draft, lock, None if entry.grants is None else verdict


def _in_session(house: House, entry: AuditEntry) -> tuple[Capabilities | None, list[tuple[ToolDraft, Lock]]]:
    from alita_tui.view.fold import fold_all
    from alita_tui.wiring.records import recording

    envelopes = recording(house, entry.session_id)
    grants = next(
        (
            one.event.grants
            for one in envelopes
            if isinstance(one.event, e.ApprovalResolved) and one.event.approval_id == entry.approval_id
        ),
        None,
    )
    view = fold_all(envelopes, rows_of=lambda _: ())
    found = [
        (attempt.draft, attempt.lock or Lock())
        for build in view.builds
        for attempt in reversed(build.attempts)
        if build.name == entry.name or attempt.draft.name == entry.name
    ]
    return grants, found


def told(one: Recovered) -> str:
    """One of them as a line for a person."""
    which = f"{one.name} v{one.version}"
    return f"{which}: put back from {one.source}" if one.source else f"{which}: not put back, {one.problem}"
