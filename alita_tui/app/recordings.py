"""Reads recorded sessions: their envelopes, past calls of a tool, its lineage, and running them again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.events import Lineage, LockedPackage
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.history import History
from alita_tui.spine.ports.builds import PastCall

if TYPE_CHECKING:
    from alita_tui.agent.rerun import Rerun


FROM_ELSEWHERE = (
    "It comes from elsewhere: it can show that its events keep the laws of a session, not that its verdicts were "
    "given or that its tools are approved here."
)

_MAX_SESSIONS = 30
_MAX_CALLS = 20


def path_of(app: AppContext, session: str | None) -> Path:
    """Return the file of a session, by default the newest. Raises UsageError, StoreError."""
    if session is not None:
        return app.sessions.find(session)
    latest = app.sessions.latest()
    if latest is None:
        raise UsageError("There is no session yet.", hint="Begin one with `alita`.")
    return Path(latest.path)


def recording(
    app: AppContext,
    session: str | None,
    damage: Callable[[str], object] = lambda _: None,
    imported: Callable[[str], object] = lambda _: None,
) -> tuple[Envelope, ...]:
    """Return the durable envelopes of a session, a session file, or an export as JSON lines.

    `damage` is called with a line about unreadable records, `imported` with a line about what an imported session
    cannot prove. Raises UsageError, StoreError.
    """
    from alita_tui.store.sessions import SessionFile, as_imported

    if session is not None and session.endswith(".jsonl"):
        from alita_tui.replay.export_jsonl import read_jsonl

        imported(FROM_ELSEWHERE)
        return tuple(as_imported(read_jsonl(Path(session))))
    file = SessionFile.open(path_of(app, session), readonly=True)
    try:
        if file.restored.note:
            damage(f"{file.session_id}: {file.restored.note}")
        if file.imported:
            imported(FROM_ELSEWHERE)
        return file.envelopes()
    finally:
        file.close()


def history(
    app: AppContext, session: str | None, damage: Callable[[str], object] = lambda _: None
) -> History:
    """Return a session's events for navigation; those of a closed session are read from its file when needed.

    Raises UsageError, StoreError.
    """
    from alita_tui.store.sessions import SessionFile

    if session is not None and session.endswith(".jsonl"):
        return History(recording(app, session))
    file = SessionFile.open(path_of(app, session), readonly=True)  # stays open while the history is used
    if file.restored.note:
        damage(f"{file.session_id}: {file.restored.note}")
    return file.history()


def past_calls(app: AppContext, name: str) -> tuple[PastCall, ...]:
    """Return calls of a tool that succeeded, newest first, from the newest sessions."""
    calls: list[PastCall] = []
    for envelopes in own_recordings(app):
        if len(calls) >= _MAX_CALLS:
            break
        calls += _calls(envelopes, name)
    return tuple(calls[:_MAX_CALLS])


def own_recordings(app: AppContext) -> Iterator[tuple[Envelope, ...]]:
    """Yield the newest sessions, newest first, without those from elsewhere and those that cannot be read."""
    from alita_tui.store.sessions import SessionFile

    for summary in app.sessions.list()[:_MAX_SESSIONS]:
        with suppress(StoreError, UsageError):
            file = SessionFile.open(Path(summary.path), readonly=True)
            try:
                envelopes = () if file.imported else file.envelopes()
            finally:
                file.close()
            if envelopes:
                yield envelopes


def _calls(envelopes: tuple[Envelope, ...], name: str) -> list[PastCall]:
    arguments_of: dict[str, object] = {}
    calls: list[PastCall] = []
    for envelope in envelopes:
        match envelope.event:
            case e.ToolCalled(
                call_id=call_id, name=called_name, arguments=arguments, files=(), references=()
            ) if called_name == name:
                arguments_of[call_id] = arguments
            case e.ToolReturned(call_id=call_id, report=e.RunReport(result_handle="") as report) if (
                call_id in arguments_of
            ):
                calls.append(PastCall(arguments=arguments_of[call_id], result=report.result))
            case _:
                pass
    return calls[::-1]


def lineage(app: AppContext, name: str) -> Lineage:
    """Return a tool's versions and moves, with what each build cost. Raises RegistryError; reads sessions."""
    import msgspec

    from alita_tui.view.fold import fold_all

    lineage = app.lineages("console").of(name)
    entries = [entry for entry in app.audit.entries() if entry.name == name and entry.on_build]
    approved = {entry.approval_id: entry for entry in entries}
    spent: dict[int, float] = {}
    folded: set[str] = set()
    for record in lineage.versions:
        entry = approved.get(record.approval_id)
        if entry is None or entry.session_id in folded:
            continue
        folded.add(entry.session_id)
        with suppress(StoreError, UsageError):
            shares = fold_all(recording(app, entry.session_id)).spend.by_tool
            for share in shares:
                if share.name == name:
                    spent[record.version] = share.usd
    return msgspec.structs.replace(lineage, spent_usd=spent)


async def rerun(app: AppContext, envelopes: Sequence[Envelope]) -> AsyncGenerator[Rerun, None]:
    """Run the tool calls of a recording again, with its recorded replies. Raises SandboxUnavailable."""
    from alita_tui.agent.rerun import Rerunner

    sandbox = app.sandbox("rerun")
    try:
        async for result in Rerunner(sandbox, app.library, app.limits).run(envelopes):
            yield result
    finally:
        await sandbox.close()


def known_packages(app: AppContext) -> tuple[LockedPackage, ...]:
    """Return the wheels of all runnable tools that a person, not a rule, approved."""
    by_rule = {entry.approval_id for entry in app.audit.entries() if entry.via == "policy"}
    records = (record for card in app.library.cards() for record in app.library.versions(card.name))
    return tuple(
        package
        for record in records
        if record.state in ("provisional", "trusted") and record.approval_id not in by_rule
        for package in record.lock.packages
    )


def is_fork(history: Sequence[Envelope]) -> bool:
    """Return True for a forked session: what it tries out teaches memory nothing."""
    first = history[0].event if history else None
    return isinstance(first, e.SessionOpened) and bool(first.parent)
