"""What recorded sessions tell: their envelopes, past calls, a tool's line of versions, running them again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.spine import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.history import History
from alita_tui.spine.ports import PastCall
from alita_tui.spine.values import Lineage, LockedPackage
from alita_tui.wiring.house import House

if TYPE_CHECKING:
    from alita_tui.agent.rerun import Rerun


FROM_ELSEWHERE = (
    "It comes from elsewhere: it can show that its events keep the laws of a session, not that its verdicts were "
    "given or that its tools are approved here."
)

_SESSIONS_LOOKED_AT = 30
_CALLS_REPLAYED = 20


def path_of(house: House, which: str | None) -> Path:
    """The file of a session, by default the newest one's. Raises UsageError, StoreError."""
    if which is not None:
        return house.sessions.find(which)
    latest = house.sessions.latest()
    if latest is None:
        raise UsageError("There is no session yet.", hint="Begin one with `alita`.")
    return Path(latest.path)


def recording(
    house: House,
    which: str | None,
    damage: Callable[[str], object] = lambda _: None,
    imported: Callable[[str], object] = lambda _: None,
) -> tuple[Envelope, ...]:
    """The durable envelopes of a session, its file or an export of it as JSON lines, read only.

    `damage` hears in one line of what could not be read, `imported` that what was read comes from elsewhere and
    what it cannot prove. Raises UsageError, StoreError.
    """
    from alita_tui.store.sessions import SessionFile

    if which is not None and which.endswith(".jsonl"):
        from alita_tui.replay.export_jsonl import read_jsonl

        imported(FROM_ELSEWHERE)
        return tuple(read_jsonl(Path(which)))
    file = SessionFile.open(path_of(house, which), readonly=True)
    try:
        if file.restored.note:
            damage(f"{file.session_id}: {file.restored.note}")
        if file.imported:
            imported(FROM_ELSEWHERE)
        return file.envelopes()
    finally:
        file.close()


def history(house: House, which: str | None, damage: Callable[[str], object] = lambda _: None) -> History:
    """The same for looking around in it: of a closed session events are read again when they are asked for.

    Raises UsageError, StoreError.
    """
    from alita_tui.store.sessions import SessionFile

    if which is not None and which.endswith(".jsonl"):
        return History(recording(house, which))
    file = SessionFile.open(
        path_of(house, which), readonly=True
    )  # open as long as anyone holds what is given
    if file.restored.note:
        damage(f"{file.session_id}: {file.restored.note}")
    return file.history()


def past_calls(house: House, name: str) -> tuple[PastCall, ...]:
    """Calls of a tool that returned, the newest first, from the newest sessions."""
    found: list[PastCall] = []
    for summary in house.sessions.list()[:_SESSIONS_LOOKED_AT]:
        if len(found) < _CALLS_REPLAYED:
            with suppress(StoreError, UsageError):
                found += _calls(recording(house, summary.session_id), name)
    return tuple(found[:_CALLS_REPLAYED])


def _calls(envelopes: tuple[Envelope, ...], name: str) -> list[PastCall]:
    """Calls of a tool that returned, the newest first."""
    called: dict[str, object] = {}
    found: list[PastCall] = []
    for envelope in envelopes:
        match envelope.event:
            case e.ToolCalled(call_id=call_id, name=called_name, arguments=arguments) if called_name == name:
                called[call_id] = arguments
            case e.ToolReturned(call_id=call_id, report=report) if call_id in called:
                found.append(PastCall(arguments=called[call_id], result=report.result))
            case _:
                pass
    return found[::-1]


def lineage(house: House, name: str) -> Lineage:
    """A tool's versions and moves, with what building each took. Raises RegistryError; may read sessions."""
    import msgspec

    from alita_tui.view.fold import fold_all

    found = house.lineages("console").of(name)
    entries = [entry for entry in house.audit.entries() if entry.name == name and entry.on_build]
    approved = {entry.approval_id: entry for entry in entries}
    spent: dict[int, float] = {}
    folded: set[str] = set()
    for record in found.versions:
        entry = approved.get(record.approval_id)
        if entry is None or entry.session_id in folded:
            continue
        folded.add(entry.session_id)
        with suppress(StoreError, UsageError):
            shares = fold_all(recording(house, entry.session_id)).spend.by_tool
            for share in shares:
                if share.name == name:
                    spent[record.version] = share.usd
    return msgspec.structs.replace(found, spent_usd=spent)


async def rerun(house: House, envelopes: Sequence[Envelope]) -> AsyncGenerator[Rerun, None]:
    """Do again what a session recorded, with its recorded replies. Raises SandboxUnavailable."""
    from alita_tui.agent.rerun import Rerunner

    sandbox = house.sandbox("rerun")
    try:
        async for one in Rerunner(sandbox, house.shelf, house.limits).run(envelopes):
            yield one
    finally:
        await sandbox.close()


def known_packages(house: House) -> tuple[LockedPackage, ...]:
    """The wheels of all tools that may run and that a person approved."""
    by_rule = {one.approval_id for one in house.audit.entries() if one.via == "policy"}
    records = (one for card in house.shelf.cards() for one in house.shelf.versions(card.name))
    return tuple(
        package
        for record in records
        if record.state in ("provisional", "trusted") and record.approval_id not in by_rule
        for package in record.lock.packages
    )
