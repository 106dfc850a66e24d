"""What `alita sessions verify` looks at: laws, files, digests of tools, verdicts against the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.spine.errors import AlitaError, RegistryError
from alita_tui.spine.events import ToolRegistered
from alita_tui.spine.laws import Breach, check
from alita_tui.spine.values import Value

if TYPE_CHECKING:
    from alita_tui.registry.shelf import Shelf
    from alita_tui.spine.envelope import Envelope
    from alita_tui.wiring.house import House


class Verified(Value, frozen=True, omit_defaults=False):
    """One session; every list is empty when all is well."""

    session_id: str
    events: int
    breaches: tuple[Breach, ...] = ()
    file: tuple[str, ...] = ()
    """What is damaged."""
    tools: tuple[str, ...] = ()
    """Tools that it registered and whose files are not what was approved."""
    verdicts: tuple[str, ...] = ()
    """Verdicts that session and audit log tell differently, or only one of them."""

    proves: tuple[str, ...] = ()
    """What all of this can show, and what not."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All of it, one line each."""
        return (
            *(f"event {one.seq}: {one.law}: {one.text}" for one in self.breaches),
            *(f"file: {one}" for one in self.file),
            *(f"tool: {one}" for one in self.tools),
            *(f"audit: {one}" for one in self.verdicts),
        )


def verified_or_why(house: House, path: Path) -> Verified:
    """Look at one session; one that cannot be opened is a problem of its file, and no reason to stop."""
    try:
        return verified(house, path)
    except AlitaError as error:
        return Verified(session_id=path.stem, events=0, file=(error.message,))


def verified(house: House, path: Path) -> Verified:
    """Look at one session; nothing is changed. Raises StoreError, UsageError."""
    from alita_tui.store.sessions import SessionFile
    from alita_tui.store.testimony import contradictions
    from alita_tui.wiring.records import FROM_ELSEWHERE

    file = SessionFile.open(path, readonly=True)
    try:
        history, note = file.envelopes(), file.restored.note
    finally:
        file.close()
    entries = house.audit.entries()
    ours = [entry for entry in entries if entry.session_id == file.session_id]
    # One that says that it was imported, and has verdicts in the log, was not.
    at_home = path.resolve().parent == house.paths.sessions.resolve() and (not file.imported or bool(ours))
    if at_home:
        signed = sum(entry.signed for entry in ours)
        proves = f"{signed} of its verdicts are in the log, signed"
        if len(ours) > signed:
            proves += f", {len(ours) - signed} as an older alita chained them"
    else:
        proves = FROM_ELSEWHERE
    return Verified(
        session_id=file.session_id,
        events=len(history),
        breaches=tuple(check(history)),
        file=(note,) if note else (),
        tools=tuple(_tools(house.shelf, history)) if at_home else (),
        verdicts=tuple(contradictions(entries, file.session_id, history)) if at_home else (),
        proves=(proves,),
    )


def _tools(shelf: Shelf, history: tuple[Envelope, ...]) -> list[str]:
    from alita_tui.registry.shelf import RUNNABLE

    problems = []
    for envelope in history:
        event = envelope.event
        if not isinstance(event, ToolRegistered) or event.lasting == "task":
            continue
        card = event.card
        known = [one for one in shelf.versions(card.name) if one.version == card.version]
        if not known or known[0].digest != card.digest:
            problems.append(f"{card.name} v{card.version} is not in the library as it was approved")
            continue
        if known[0].state in RUNNABLE:
            try:
                shelf.get(card.name, card.version)
            except RegistryError as error:
                problems.append(error.message)
    return problems
