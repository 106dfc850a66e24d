"""Applies the audit log to the library's documents: where they differ, the log is right. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from alita_tui.events import Capabilities, Move, ToolRecord, ToolState, Value, ready
from alita_tui.registry.trust import base
from alita_tui.spine.errors import RegistryError
from alita_tui.spine.ports.library import Standing
from alita_tui.spine.text import one_line

RUNNABLE: frozenset[ToolState] = frozenset({"provisional", "trusted", "stale"})

Records = dict[str, dict[int, ToolRecord]]
"""Records by tool name and version."""


class Overridden(Value, frozen=True):
    """A difference between the documents and the audit log."""

    version: int
    move: Move
    """The log's newest entry on it, which is right."""
    text: str


@dataclass
class Reconciled:
    """What the log changed about records and pins."""

    doubts: dict[tuple[str, int], str] = field(default_factory=dict)
    """Reasons why versions do not run although their state would allow it."""
    overridden: tuple[Overridden, ...] = ()


def reconcile(
    standing: Standing, records: Records, pins: dict[str, int | None], *, audited: bool
) -> Reconciled:
    """Set states and pins in place to those of the log; return the differences and the unproven versions.

    With `audited` a version runs only if the log proves its approval.
    """
    result = Reconciled()
    overridden: list[Overridden] = []
    for name, versions in records.items():
        for version, record in versions.items():
            move = standing.states.get(record.approval_id)
            if move is not None and base(record.state) != move.after:
                state = msgspec.convert(move.after, ready(ToolState))
                overridden.append(Overridden(version=version, move=move, text=_state_line(record, move)))
                record = versions[version] = msgspec.structs.replace(record, state=state)
            if audited and record.state in RUNNABLE:
                reason = standing.problem or doubt(
                    standing, record.approval_id, name, record.digest, record.grants
                )
                if reason:
                    result.doubts[name, version] = reason
    for name, move in standing.pins.items():
        pinned = int(move.after) if move.after.isdecimal() else None
        if name in records and pins.get(name) != pinned:
            stored, logged = (f"v{pin}" if pin else "none" for pin in (pins.get(name), pinned))
            text = f"{name}: the library says that {stored} is pinned, the log {logged}"
            overridden.append(Overridden(version=move.version, move=move, text=text))
            pins[name] = pinned
    result.overridden = tuple(overridden)
    return result


def _state_line(record: ToolRecord, move: Move) -> str:
    runs = "it runs" if move.after in RUNNABLE else "it does not run"
    return (
        f"{record.draft.name} v{record.version}: the library says {record.state}, the log says {move.after} "
        f"(by {one_line(move.by, 60)} on {move.at[:10]}); {runs}"
    )


def check_approval(
    standing: Standing,
    approval_id: str,
    name: str,
    digest: str,
    grants: Capabilities | None,
    version: int | None = None,
) -> None:
    """Raise RegistryError unless the approval covers this tool, these bytes and this grant."""
    if reason := doubt(standing, approval_id, name, digest, grants):
        tool = one_line(name, 60)
        arguments = f"{tool} --version {version}" if version is not None else tool
        raise RegistryError(
            f"{tool} does not run: {reason}.",
            hint=f"`alita audit explain {tool}` shows what is known. To look at it and approve it again: "
            f"alita tools approve {arguments}",
        )


def doubt(standing: Standing, approval_id: str, name: str, digest: str, grants: Capabilities | None) -> str:
    """Return why an approval does not cover this tool, these bytes and this grant; empty if it does."""
    approval = standing.approvals.get(approval_id)
    if standing.problem:
        return standing.problem
    if approval is None:
        return f"the audit log of this home has no approval {one_line(approval_id, 60)!r}"
    if approval.name != name:
        return f"its approval belongs to {one_line(approval.name, 60)}"
    if approval.digest != digest:
        return f"its approval is of other bytes, {approval.digest[:12]}"
    if approval.lasting != "library":
        return "its approval was for one task alone"
    if approval.grants != (None if grants is None else grants.items):
        return "its grant differs from the approved one"
    return ""
