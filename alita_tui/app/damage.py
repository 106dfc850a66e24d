"""Damage to the files that sessions share, as `doctor`, `tools list` and a session's first notices report it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alita_tui.events import Check, UnknownEvent
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.history import of

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.store.damage import Damage
    from alita_tui.store.entry import AuditEntry


def damaged_files(app: AppContext) -> tuple[Damage, ...]:
    """Return damage to what sessions share, including past damage whose original is still saved.

    Never raises.
    """
    from alita_tui.store.damage import damages

    paths = app.paths
    shared = (paths.registry, paths.memory, paths.labels, paths.servers, paths.background, paths.spend)
    return damages(shared)


def damage_checks(app: AppContext) -> tuple[Check, ...]:
    """Return the damage, and the tools lost by it, as lines of `alita doctor`."""
    hint = (
        "`alita tools recover` restores it from its files or its session; `alita backup list` shows what "
        "else can be restored."
    )
    checks = [
        Check(name="data", state="problem", detail=damage.text, hint=damage.hint)
        for damage in damaged_files(app)
    ]
    checks += [
        Check(
            name="library",
            state="problem",
            detail=f"{entry.name} v{entry.version} was approved on {entry.at[:10]} and is gone from the library",
            hint=hint,
        )
        for entry in lost_tools(app)
    ]
    return tuple(checks) or (
        Check(
            name="data", state="ok", detail="library, memory, labels, servers, background and spend are whole"
        ),
    )


def lost_tools(app: AppContext) -> tuple[AuditEntry, ...]:
    """Return the newest library approval of each version that the audit log has and the library lacks."""
    try:
        entries = app.audit.entries()
        in_library = {
            (record.draft.name, record.version)
            for name in {entry.name for entry in entries}
            for record in app.library.versions(name)
        }
    except AlitaError:
        return ()  # reading the log or the library directly reports the error
    approvals = (
        entry
        for entry in entries
        if entry.verdict == "approved" and entry.lasting == "library" and not entry.alias
    )
    approved = {(entry.name, entry.version): entry for entry in approvals}
    return tuple(entry for version, entry in sorted(approved.items()) if version not in in_library)


def count_unknown(history: Sequence[Envelope]) -> int:
    """Count the records that this version cannot read; missing ones are reported elsewhere."""
    unknown = (envelope.event for envelope in of(history, UnknownEvent))
    return sum(isinstance(event, UnknownEvent) and event.raw != "" for event in unknown)
