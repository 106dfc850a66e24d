"""`alita sessions verify`: laws, files, digests of tools, and verdicts against the audit log."""

from __future__ import annotations

from pathlib import Path

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import FROM_ELSEWHERE
from alita_tui.events import ToolRegistered, Value
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.reconcile import RUNNABLE
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, RegistryError
from alita_tui.spine.laws import Breach, check
from alita_tui.store.crosscheck import contradictions
from alita_tui.store.sessions import SessionFile


class Verified(Value, frozen=True, omit_defaults=False):
    """The result for one session; every list of problems is empty when all is well."""

    session_id: str
    events: int
    breaches: tuple[Breach, ...] = ()
    file: tuple[str, ...] = ()
    """Damage to the file."""
    tools: tuple[str, ...] = ()
    """Tools that the session registered and whose files are not what was approved."""
    verdicts: tuple[str, ...] = ()
    """Verdicts on which session and audit log differ."""
    proves: tuple[str, ...] = ()
    """What the check can prove and what it cannot."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems, one line each."""
        return (
            *(f"event {breach.seq}: {breach.law}: {breach.text}" for breach in self.breaches),
            *(f"file: {line}" for line in self.file),
            *(f"tool: {line}" for line in self.tools),
            *(f"audit: {line}" for line in self.verdicts),
        )


def verified_or_why(app: AppContext, path: Path) -> Verified:
    """Verify one session of many: a file that cannot be opened is a result, not an error."""
    try:
        return verified(app, path)
    except AlitaError as error:
        return Verified(session_id=path.stem, events=0, file=(error.message,))


def verified(app: AppContext, path: Path) -> Verified:
    """Verify one session without changing it. Raises StoreError, UsageError."""
    file = SessionFile.open(path, readonly=True)
    try:
        history, note = file.envelopes(), file.restored.note
    finally:
        file.close()
    entries = app.audit.entries()
    own_entries = [entry for entry in entries if entry.session_id == file.session_id]
    # A session that claims to be imported but has verdicts in this log was recorded here.
    at_home = path.resolve().parent == app.paths.sessions.resolve() and (
        not file.imported or bool(own_entries)
    )
    if at_home:
        signed = sum(entry.signed for entry in own_entries)
        proves = f"{signed} of its verdicts are in the log, signed"
        if len(own_entries) > signed:
            proves += f", {len(own_entries) - signed} as an older alita chained them"
    else:
        proves = FROM_ELSEWHERE
    return Verified(
        session_id=file.session_id,
        events=len(history),
        breaches=tuple(check(history)),
        file=(note,) if note else (),
        tools=tuple(_tool_problems(app.library, history)) if at_home else (),
        verdicts=tuple(contradictions(entries, file.session_id, history)) if at_home else (),
        proves=(proves,),
    )


def _tool_problems(library: ToolLibrary, history: tuple[Envelope, ...]) -> list[str]:
    problems = []
    for envelope in history:
        event = envelope.event
        if not isinstance(event, ToolRegistered) or event.lasting == "task":
            continue
        card = event.card
        record = next(
            (version for version in library.versions(card.name) if version.version == card.version), None
        )
        if record is None or record.digest != card.digest:
            problems.append(f"{card.name} v{card.version} is not in the library as it was approved")
        elif record.state in RUNNABLE:
            try:
                library.get(card.name, card.version)
            except RegistryError as error:
                problems.append(error.message)
    return problems
