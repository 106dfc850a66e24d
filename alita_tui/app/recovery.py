"""Restores approved tools that the library lost, from any place that still has their exact bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.app.damage import lost_tools
from alita_tui.app.recordings import recording
from alita_tui.events import Capabilities, Lock, ToolDraft, ToolRecord, Value, build_digest
from alita_tui.registry.recovery import Recovery
from alita_tui.spine.errors import AlitaError, RegistryError
from alita_tui.spine.history import of_kind
from alita_tui.view.fold import fold_all

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.store.entry import AuditEntry


class Recovered(Value, frozen=True):
    """The outcome for one lost version."""

    name: str
    version: int
    source: str = ""
    """Where its bytes were found; empty if nowhere."""
    problem: str = ""

    @property
    def line(self) -> str:
        """The outcome in one line."""
        outcome = f"put back from {self.source}" if self.source else f"not put back, {self.problem}"
        return f"{self.name} v{self.version}: {outcome}"


def recover(app: AppContext, name: str = "") -> tuple[Recovered, ...]:
    """Restore the lost versions of one tool or of all. This approves nothing: the log has the approvals.

    Raises RegistryError if nothing of that name is lost, StoreError.
    """
    entries = [entry for entry in lost_tools(app) if name in ("", entry.name)]
    if name and not entries:
        raise RegistryError(
            f"Nothing of {name!r} is missing from the library.",
            hint="`alita tools list` shows what is there.",
        )
    results = tuple(_put_back(app, entry) for entry in entries)
    if any(version.source for version in results) and not app.library.standing().problem:
        app.lineages("cli")  # repeats later changes, such as a revocation
    return results


def _recovery(app: AppContext) -> Recovery:
    return Recovery(app.tool_documents, app.paths.mcp_box)


def _put_back(app: AppContext, entry: AuditEntry) -> Recovered:
    for source, draft, lock, grants in _copies(app, entry):
        digest = build_digest(draft, lock)
        same = digest == entry.digest and draft.name == entry.name
        granted = None if grants is None else grants.items
        if same and granted == entry.grants and (grants is None or grants.within(draft.capabilities)):
            record = ToolRecord(
                draft=draft, version=entry.version, digest=digest, state="provisional", lock=lock,
                approval_id=entry.approval_id, grants=grants, created_at=entry.at,
            )  # fmt: skip
            _recovery(app).put_back(record)
            return Recovered(name=entry.name, version=entry.version, source=source)
    nowhere = f"neither below `mcp_box` nor in session {entry.session_id or '-'}"
    problem = f"its bytes (SHA-256 {entry.digest[:12]}) are {nowhere}"
    return Recovered(name=entry.name, version=entry.version, problem=problem)


def _copies(app: AppContext, entry: AuditEntry) -> Iterator[tuple[str, ToolDraft, Lock, Capabilities | None]]:
    """Yield possible copies: its files, then the drafts of the session that it was approved in."""
    verdict: Capabilities | None = None
    drafts: list[tuple[ToolDraft, Lock]] = []
    if entry.session_id:
        try:
            verdict, drafts = _in_session(app, entry)
        except AlitaError:
            drafts = []  # the session is gone or cannot be read; its files may be enough
    try:
        draft, lock, granted = _recovery(app).files_of(entry.name, entry.version)
        yield "its files", draft, lock, None if entry.grants is None else verdict or granted
    except AlitaError:
        pass
    for draft, lock in drafts:
        yield f"session {entry.session_id}", draft, lock, None if entry.grants is None else verdict


def _in_session(
    app: AppContext, entry: AuditEntry
) -> tuple[Capabilities | None, list[tuple[ToolDraft, Lock]]]:
    """Return the grants of the recorded verdict, and every draft of that tool, newest first per build."""
    envelopes = recording(app, entry.session_id)
    grants = next(
        (
            resolved.verdict.grants
            for resolved in of_kind(envelopes, e.ApprovalResolved)
            if resolved.approval_id == entry.approval_id
        ),
        None,
    )
    view = fold_all(envelopes, rows_of=lambda _: ())
    drafts = [
        (attempt.draft, attempt.lock or Lock())
        for build in view.builds
        for attempt in reversed(build.attempts)
        if build.name == entry.name or attempt.draft.name == entry.name
    ]
    return grants, drafts
