"""Damage to what sessions share, said where a person looks: `doctor`, `tools list`, the console's first lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.spine.errors import AlitaError
from alita_tui.spine.values import Check

if TYPE_CHECKING:
    from alita_tui.store.damage import Damage
    from alita_tui.store.entry import AuditEntry
    from alita_tui.wiring.house import House


def found(house: House) -> tuple[Damage, ...]:
    """What is damaged of library, memory, labels and spend, or was and has its original kept. Never raises."""
    from alita_tui.store.damage import damages

    paths = house.paths
    return damages((paths.registry, paths.memory, paths.labels, paths.spend))


def checks(house: House) -> tuple[Check, ...]:
    """The same as lines of `alita doctor`, with the tools that the damage took."""
    made = [Check(name="data", state="problem", detail=one.text, hint=one.hint) for one in found(house)]
    made += [
        Check(name="library", state="problem", detail=text, hint=_BRING_BACK) for text in lost_tools(house)
    ]
    return tuple(made) or (
        Check(name="data", state="ok", detail="library, memory, labels and spend are whole"),
    )


_BRING_BACK = (
    "`alita tools recover` puts it back from its files or its session; `alita backup list` shows what else "
    "can be brought back."
)


def lost_tools(house: House) -> tuple[str, ...]:
    """Tools that the audit log says were approved for good and that the library does not know."""
    return tuple(
        f"{one.name} v{one.version} was approved on {one.at[:10]} and is gone from the library"
        for one in lost(house)
    )


def lost(house: House) -> tuple[AuditEntry, ...]:
    """The newest approval of each of them."""
    try:
        entries = house.audit.entries()
        known = {
            (one.draft.name, one.version)
            for name in {entry.name for entry in entries}
            for one in house.shelf.versions(name)
        }
    except AlitaError:
        return ()  # whoever asks for the log or the library itself is told why
    approved = (
        one for one in entries if one.verdict == "approved" and one.lasting == "library" and not one.alias
    )
    gone = {(one.name, one.version): one for one in approved if (one.name, one.version) not in known}
    return tuple(one for _, one in sorted(gone.items(), key=lambda item: item[0]))
