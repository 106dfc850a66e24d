"""What would make the library better: gathered from records, and built so that it waits for a verdict."""

from __future__ import annotations

import asyncio
import signal
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import own_recordings
from alita_tui.events import Capabilities, Json, TaskFinished, ToolDraft, ToolRecord, Value, as_json
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.grants import tool_grants
from alita_tui.spine.ports.builds import FailedCall
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.registry.proposals import Known, Proposal

_MOST_CALLS = 60
_NOT_ITS_FAULT: tuple[e.TaskOutcome, ...] = ("sandbox", "interrupted")
"""How the task of a proposal ends where the proposal may be made again."""
_PAIRS = 6
"""Pairs of tools that are compared at once: each takes two containers for a second or two."""
_NEARLY = 0.4
"""Share of the same answers from which two tools are nearly one."""
_FAILED_BY_ITSELF: tuple[e.FailureReason, ...] = ("error", "exit", "timeout", "limit", "bad_result")


class Record(Value, frozen=True):
    """What the sessions say of one version."""

    failures: tuple[FailedCall, ...] = ()
    """The newest first, without those that succeeded later."""
    calls: tuple[Json, ...] = ()
    served: int = 0
    requests: tuple[e.BrokerAnswered, ...] = ()
    """What its successful runs asked the broker for."""


def records(app: AppContext) -> dict[tuple[str, int], Record]:
    """Return what the newest sessions say of each version that was run."""
    known: defaultdict[tuple[str, int], Record] = defaultdict(Record)
    for envelopes in own_recordings(app):
        for tool, found in _of_session(envelopes).items():
            old = known[tool]
            known[tool] = Record(
                failures=(*old.failures, *found.failures)[:_MOST_CALLS],
                calls=(*old.calls, *found.calls)[:_MOST_CALLS],
                served=old.served + found.served,
                requests=(*old.requests, *found.requests),
            )
    return {tool: _without_mended(record) for tool, record in known.items()}


def _of_session(envelopes: Sequence[Envelope]) -> dict[tuple[str, int], Record]:
    calls: dict[str, e.ToolCalled] = {}
    asked: defaultdict[str, list[e.BrokerAnswered]] = defaultdict(list)
    found: defaultdict[tuple[str, int], Record] = defaultdict(Record)
    for envelope in envelopes:
        match envelope.event:
            case e.ToolCalled(call_id=call_id) as call:
                calls[call_id] = call
            case e.BrokerAnswered(call_id=call_id) as answered:
                asked[call_id].append(answered)
            case e.ToolReturned(call_id=call_id, misfit=misfit) if call_id in calls:
                call = calls[call_id]
                old = found[call.name, call.version]
                wrong = (
                    _failed(call, f"its result does not fit its output schema: {misfit}") if misfit else ()
                )
                plain = (call.arguments,) if not (call.files or call.references or misfit) else ()
                found[call.name, call.version] = msgspec.structs.replace(
                    old,
                    failures=(*wrong, *old.failures),
                    calls=(*plain, *old.calls),
                    served=old.served + 1,
                    requests=(*old.requests, *asked[call_id]),
                )
            case e.ToolFailed(call_id=call_id, reason=reason, text=text, report=report) if (
                call_id in calls and reason in _FAILED_BY_ITSELF
            ):
                call = calls[call_id]
                old = found[call.name, call.version]
                said = report.error if report is not None and report.error else text
                failures = (*_failed(call, said), *old.failures)
                found[call.name, call.version] = msgspec.structs.replace(old, failures=failures)
            case _:
                pass
    return dict(found)


def _failed(call: e.ToolCalled, said: str) -> tuple[FailedCall, ...]:
    """Return a failed call, if it can be repeated without the files of its session."""
    if call.files or call.references:
        return ()
    return (FailedCall(version=call.version, arguments=call.arguments, error=said),)


def _without_mended(record: Record) -> Record:
    """Return the record without failures whose arguments succeeded, each of them once."""
    worked = {as_json(one, ordered=True) for one in record.calls}
    failures: dict[str, FailedCall] = {}
    for one in record.failures:
        key = as_json(one.arguments, ordered=True)
        if key not in worked:
            failures.setdefault(key, one)
    return msgspec.structs.replace(record, failures=tuple(failures.values()))


def failed_calls(app: AppContext, name: str) -> tuple[FailedCall, ...]:
    """Return calls of a tool that failed, newest first, and did not succeed since."""
    current = app.library.current(name)
    return next((one.failures for tool, one in records(app).items() if tool == (name, current)), ())


def unused(granted: Capabilities, requests: Sequence[e.BrokerAnswered]) -> tuple[str, ...]:
    """Return what was granted and never asked for, as in `Capabilities.items`; of writing also `workspace:read`."""
    lines = [one.request.lower() for one in requests]
    secrets = {name for one in requests for name in one.secrets}
    used: set[str] = set()
    for entry in granted.network:
        host = entry.rpartition(" ")[2].rpartition(":")[0].lower().rstrip(".")
        if any(host in line for line in lines):
            used.add(f"network:{entry}")
    if any(" /files" in line and not line.startswith("get ") for line in lines):
        used |= {"workspace:write", "workspace:read"}
    elif any(" /files" in line for line in lines):
        used.add("workspace:read")
    if any(" /model" in line for line in lines):
        used.add(f"model:{granted.model_calls}")
    used |= {item for item in granted.items if item.startswith("browser:")}  # using it makes no request
    used |= {f"secret:{entry}" for entry in granted.secrets if entry.partition("@")[0] in secrets}
    for entry in granted.items:
        named = entry.removeprefix("tool:").partition("@")[0]
        if entry.startswith("tool:") and any(line.endswith(f"/tools/{named}") for line in lines):
            used.add(entry)
    items = [*granted.items, *(("workspace:read",) if granted.workspace == "write" else ())]
    return tuple(item for item in items if item not in used)


async def gather(app: AppContext, names: Sequence[str] = (), *, faults: bool = True) -> tuple[Known, ...]:
    """Return what is known of the tools that run, by default of all; with `faults` a database is asked.

    Near ones are compared by running them. Raises UsageError for a name that is none.
    """
    from alita_tui.registry.callers import running

    library = app.library
    chosen = list(running(library))
    known_names = {record.draft.name for record in chosen}
    if strangers := [name for name in names if name not in known_names]:
        raise UsageError(
            f"There is no tool {one_line(strangers[0], 60)} that runs.",
            hint="`alita tools list` shows the library.",
        )
    told = await asyncio.to_thread(records, app)
    found: list[Known] = []
    for bare in chosen:
        if names and bare.draft.name not in names:
            continue
        try:
            record = await asyncio.to_thread(library.get, bare.draft.name, bare.version)
        except AlitaError:
            continue  # its files are missing or changed, so it does not run either
        found.append(_known(app, record, told.get((record.draft.name, record.version), Record())))
    found = await _with_twins(app, found)
    if not faults:
        return tuple(found)
    return tuple([await _with_faults(app, one) for one in found])


async def _with_twins(app: AppContext, found: list[Known]) -> list[Known]:
    """Return them with the tools that do nearly the same; without a sandbox nothing is compared."""
    from alita_tui.registry.proposals import Twins
    from alita_tui.spine.errors import SandboxUnavailable
    from alita_tui.toolsmith.checks.case import CouldNotRun
    from alita_tui.toolsmith.checks.workbench import Workbench
    from alita_tui.toolsmith.kinship import comparable, kinship

    near = await asyncio.to_thread(_near, app, found, comparable)
    if not near:
        return found
    twins: defaultdict[str, list[Twins]] = defaultdict(list)
    sandbox = app.sandbox("improve")
    try:
        bench = Workbench(sandbox, app.limits)
        for one, other in near:
            with suppress(CouldNotRun):
                same, probes = await kinship(bench, one, other)
                if same >= _NEARLY * probes > 0:
                    twins[one.draft.name].append(Twins(other=other, same=same, probes=probes))
                    twins[other.draft.name].append(Twins(other=one, same=same, probes=probes))
    except SandboxUnavailable:
        return found
    finally:
        await sandbox.close()
    return [msgspec.structs.replace(one, twins=tuple(twins[one.record.draft.name])) for one in found]


def _near(
    app: AppContext, found: list[Known], comparable: Callable[[ToolDraft, ToolDraft], bool]
) -> list[tuple[ToolRecord, ToolRecord]]:
    """Return the pairs that are most alike by their descriptions and take the same arguments, a few of them."""
    records = {str(one.record.draft.name): one.record for one in found if one.record.origin != "remote"}
    scored: dict[tuple[str, str], float] = {}
    for name, record in records.items():
        result = app.library.search(f"{name} {record.draft.description}", limit=5)
        others = [(str(hit.card.name), hit.score) for hit in result.hits]
        others += [(str(miss.name), miss.score) for miss in result.near_misses]
        for other, score in others:
            if other != name and other in records and comparable(record.draft, records[other].draft):
                pair = (min(name, other), max(name, other))
                scored[pair] = max(score, scored.get(pair, 0.0))
    best = sorted(scored, key=lambda pair: (-scored[pair], pair))[:_PAIRS]
    return [(records[one], records[other]) for one, other in best]


def _known(app: AppContext, record: ToolRecord, told: Record) -> Known:
    from alita_tui.registry.callers import callers_of
    from alita_tui.registry.proposals import Known

    library, name = app.library, record.draft.name
    behind = tuple(
        f"{grant.name} v{grant.version}, of which v{current} runs"
        for grant in tool_grants(record.granted)
        if (current := library.current(grant.name)) is not None and current != grant.version
    )
    return Known(
        record=record,
        track=library.track(name, record.version),
        reliability=library.reliability(name, record.version),
        failures=told.failures,
        served=told.served,
        unused=unused(record.granted, told.requests),
        calls=told.calls,
        called_by=tuple(one.draft.name for one, _ in callers_of(library, name)),
        behind=behind,
        pinned=library.pinned(name) == record.version,
    )


async def _with_faults(app: AppContext, known: Known) -> Known:
    """Return it with the known faults of its packages; where they cannot be looked up, nothing is said."""
    from alita_tui.sandbox.faults import FaultDatabase

    packages = known.record.lock.packages
    if not packages:
        return known
    book = FaultDatabase(app.loaded.settings.web.osv_url)
    told = await book.faults(packages)
    faults = tuple((name, ", ".join(ids[:3])) for name, ids in told.known.items() if ids)
    return msgspec.structs.replace(known, faults=faults)


async def proposed(
    app: AppContext, names: Sequence[str] = (), *, faults: bool = True
) -> tuple[Proposal, ...]:
    """Return what is proposed for tools, by default for all, without what was built or waits already."""
    from alita_tui.registry.proposals import proposals
    from alita_tui.registry.proposed import Proposed

    built = Proposed(app.tool_documents, now)
    waiting = {build.name for build in await asyncio.to_thread(app.inbox.pending)}
    return tuple(
        one
        for one in proposals(await gather(app, names, faults=faults), now())
        if not built.lately(one.proposal_id) and one.name not in waiting
    )


def left_today(app: AppContext) -> int:
    """Return how many more proposals may be built today."""
    from alita_tui.registry.proposed import Proposed

    return max(0, app.loaded.settings.improve.per_day - Proposed(app.tool_documents, now).today())


async def build(app: AppContext, proposal: Proposal) -> tuple[str, str, str] | None:
    """Build a proposal in a session of its own; return the session, how its task ended, and why.

    None where another process builds it, or took what was left of the day. Nothing is approved here: what passes
    waits for a verdict.
    """
    from alita_tui.app.session import open_session
    from alita_tui.registry.proposed import Proposed
    from alita_tui.spine.commands import Improve, Interrupt

    assert proposal.order is not None
    built = Proposed(app.tool_documents, now)
    if not built.take(proposal.proposal_id, app.loaded.settings.improve.per_day):
        return None
    try:
        session = await open_session(app, None, parks=True)
    except BaseException:
        built.forget(proposal.proposal_id)
        raise
    built.remember(proposal.proposal_id, session.session_id)
    text = f"Improve {proposal.name} v{proposal.version} ({proposal.kind}): {proposal.reason}"
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, session.send, Interrupt(every=True))
    session.send(Improve(proposal=proposal.proposal_id, text=str(one_line(text, 600)), order=proposal.order))
    await session.run(until_idle=True)
    ended = next(one.event for one in session.bus.history.newest(TaskFinished))
    assert isinstance(ended, TaskFinished)
    gave_up = any(True for _ in session.bus.history.newest(e.BuildFailed))
    if ended.outcome in _NOT_ITS_FAULT or (ended.outcome == "failed" and not gave_up):
        built.forget(proposal.proposal_id)
    return session.session_id, ended.outcome, ended.reason or ended.answer
