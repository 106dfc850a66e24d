"""Finds improvements of the library in the records, and builds them, each up to the request for a verdict."""

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
from alita_tui.spine.refusals import refused_input
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.registry.proposals import Proposal, ToolFacts

_MOST_CALLS = 60
_NOT_ITS_FAULT: tuple[e.TaskOutcome, ...] = ("sandbox", "interrupted")
"""Outcomes of a proposal's task after which it may be proposed again."""
_PAIRS = 6
"""Pairs of tools that are compared at once: each takes two containers for a second or two."""
_NEARLY = 0.4
"""Share of equal answers from which two tools count as nearly the same."""
_FAILED_BY_ITSELF: tuple[e.FailureReason, ...] = ("error", "exit", "timeout", "limit", "bad_result")


class Record(Value, frozen=True):
    """What the sessions recorded about one version of a tool."""

    failures: tuple[FailedCall, ...] = ()
    """The newest first, without those that succeeded later."""
    calls: tuple[Json, ...] = ()
    served: int = 0
    requests: tuple[e.BrokerAnswered, ...] = ()
    """Requests of its successful runs to the broker."""


def records(app: AppContext) -> dict[tuple[str, int], Record]:
    """Return the calls and failures of each version that the newest sessions ran."""
    by_version: defaultdict[tuple[str, int], Record] = defaultdict(Record)
    for envelopes in own_recordings(app):
        for tool, record in _of_session(envelopes).items():
            old = by_version[tool]
            by_version[tool] = Record(
                failures=(*old.failures, *record.failures)[:_MOST_CALLS],
                calls=(*old.calls, *record.calls)[:_MOST_CALLS],
                served=old.served + record.served,
                requests=(*old.requests, *record.requests),
            )
    return {tool: _without_mended(record) for tool, record in by_version.items()}


def _of_session(envelopes: Sequence[Envelope]) -> dict[tuple[str, int], Record]:
    calls: dict[str, e.ToolCalled] = {}
    requests: defaultdict[str, list[e.BrokerAnswered]] = defaultdict(list)
    by_version: defaultdict[tuple[str, int], Record] = defaultdict(Record)
    for envelope in envelopes:
        match envelope.event:
            case e.ToolCalled(call_id=call_id) as call:
                calls[call_id] = call
            case e.BrokerAnswered(call_id=call_id) as answer:
                requests[call_id].append(answer)
            case e.ToolReturned(call_id=call_id, misfit=misfit) if call_id in calls:
                call = calls[call_id]
                old = by_version[call.name, call.version]
                wrong = (
                    _failed(call, f"its result does not fit its output schema: {misfit}") if misfit else ()
                )
                plain = (call.arguments,) if not (call.files or call.references or misfit) else ()
                by_version[call.name, call.version] = msgspec.structs.replace(
                    old,
                    failures=(*wrong, *old.failures),
                    calls=(*plain, *old.calls),
                    served=old.served + 1,
                    requests=(*old.requests, *requests[call_id]),
                )
            case e.ToolFailed(call_id=call_id, reason=reason, text=text, report=report) if (
                call_id in calls
                and reason in _FAILED_BY_ITSELF
                and not (report is not None and refused_input(report, requests[call_id]))
            ):
                call = calls[call_id]
                old = by_version[call.name, call.version]
                error_text = report.error if report is not None and report.error else text
                failures = (*_failed(call, error_text), *old.failures)
                by_version[call.name, call.version] = msgspec.structs.replace(old, failures=failures)
            case _:
                pass
    return dict(by_version)


def _failed(call: e.ToolCalled, error_text: str) -> tuple[FailedCall, ...]:
    """Return the call, or nothing if it cannot be repeated without the files of its session."""
    if call.files or call.references:
        return ()
    return (FailedCall(version=call.version, arguments=call.arguments, error=error_text),)


def _without_mended(record: Record) -> Record:
    """Return the record without failures whose arguments succeeded otherwise, and without repeated failures."""
    worked = {as_json(arguments, ordered=True) for arguments in record.calls}
    failures: dict[str, FailedCall] = {}
    for failure in record.failures:
        key = as_json(failure.arguments, ordered=True)
        if key not in worked:
            failures.setdefault(key, failure)
    return msgspec.structs.replace(record, failures=tuple(failures.values()))


def failed_calls(app: AppContext, name: str) -> tuple[FailedCall, ...]:
    """Return calls of a tool that failed, newest first, and did not succeed since."""
    current = app.library.current(name)
    return next((record.failures for tool, record in records(app).items() if tool == (name, current)), ())


def unused(granted: Capabilities, requests: Sequence[e.BrokerAnswered]) -> tuple[str, ...]:
    """Return the grants that were never used, in the form of `Capabilities.items`.

    Where writing is granted, `workspace:read` is listed as well if no file was read.
    """
    lines = [
        line.lower()
        for request in requests
        for line in ([count.target for count in request.more] or [request.request])
    ]
    secrets = {name for request in requests for name in request.secrets}
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
        tool_name = entry.removeprefix("tool:").partition("@")[0]
        if entry.startswith("tool:") and any(line.endswith(f"/tools/{tool_name}") for line in lines):
            used.add(entry)
    items = [*granted.items, *(("workspace:read",) if granted.workspace == "write" else ())]
    return tuple(item for item in items if item not in used)


async def gather(app: AppContext, names: Sequence[str] = (), *, faults: bool = True) -> tuple[ToolFacts, ...]:
    """Return what is known about the running tools, by default all; with `faults` a fault database is asked.

    Similar tools are compared by running them. Raises UsageError for an unknown name.
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
    recorded = await asyncio.to_thread(records, app)
    known_tools: list[ToolFacts] = []
    for bare in chosen:
        if names and bare.draft.name not in names:
            continue
        try:
            record = await asyncio.to_thread(library.get, bare.draft.name, bare.version)
        except AlitaError:
            continue  # its files are missing or changed, so it does not run
        known_tools.append(
            _known_tool(app, record, recorded.get((record.draft.name, record.version), Record()))
        )
    known_tools = await _with_twins(app, known_tools)
    if not faults:
        return tuple(known_tools)
    return tuple([await _with_faults(app, tool) for tool in known_tools])


async def _with_twins(app: AppContext, known_tools: list[ToolFacts]) -> list[ToolFacts]:
    """Add to each tool those that do nearly the same; without a sandbox nothing is compared."""
    from alita_tui.registry.proposals import SimilarTool
    from alita_tui.spine.errors import SandboxUnavailable
    from alita_tui.toolsmith.checks.case import CouldNotRun
    from alita_tui.toolsmith.checks.workbench import Workbench
    from alita_tui.toolsmith.kinship import comparable, kinship

    near = await asyncio.to_thread(_near, app, known_tools, comparable)
    if not near:
        return known_tools
    twins: defaultdict[str, list[SimilarTool]] = defaultdict(list)
    sandbox = app.sandbox("improve")
    try:
        bench = Workbench(sandbox, app.limits)
        for first, second in near:
            with suppress(CouldNotRun):
                same, probes = await kinship(bench, first, second)
                if same >= _NEARLY * probes > 0:
                    twins[first.draft.name].append(
                        SimilarTool(record=second, same_answers=same, probes=probes)
                    )
                    twins[second.draft.name].append(
                        SimilarTool(record=first, same_answers=same, probes=probes)
                    )
    except SandboxUnavailable:
        return known_tools
    finally:
        await sandbox.close()
    return [msgspec.structs.replace(tool, twins=tuple(twins[tool.record.draft.name])) for tool in known_tools]


def _near(
    app: AppContext, known_tools: list[ToolFacts], comparable: Callable[[ToolDraft, ToolDraft], bool]
) -> list[tuple[ToolRecord, ToolRecord]]:
    """Return the pairs that are most alike by their descriptions and take the same arguments, a few of them."""
    records = {
        str(tool.record.draft.name): tool.record for tool in known_tools if tool.record.origin != "remote"
    }
    scored: dict[tuple[str, str], float] = {}
    for name, record in records.items():
        result = app.library.search(f"{name} {record.draft.description}", limit=5)
        neighbours = [(str(hit.card.name), hit.score) for hit in result.hits]
        neighbours += [(str(miss.name), miss.score) for miss in result.near_misses]
        for near_name, score in neighbours:
            if (
                near_name != name
                and near_name in records
                and comparable(record.draft, records[near_name].draft)
            ):
                pair = (min(name, near_name), max(name, near_name))
                scored[pair] = max(score, scored.get(pair, 0.0))
    best = sorted(scored, key=lambda pair: (-scored[pair], pair))[:_PAIRS]
    return [(records[first], records[second]) for first, second in best]


def _known_tool(app: AppContext, record: ToolRecord, recorded: Record) -> ToolFacts:
    from alita_tui.registry.callers import callers_of
    from alita_tui.registry.proposals import ToolFacts

    library, name = app.library, record.draft.name
    behind = tuple(
        f"{grant.name} v{grant.version}, of which v{current} runs"
        for grant in tool_grants(record.granted)
        if (current := library.current(grant.name)) is not None and current != grant.version
    )
    return ToolFacts(
        record=record,
        track=library.track(name, record.version),
        reliability=library.reliability(name, record.version),
        failures=recorded.failures,
        served=recorded.served,
        unused=unused(record.granted, recorded.requests),
        calls=recorded.calls,
        called_by=tuple(caller.draft.name for caller, _ in callers_of(library, name)),
        behind=behind,
        pinned=library.pinned(name) == record.version,
    )


async def _with_faults(app: AppContext, tool: ToolFacts) -> ToolFacts:
    """Add the known faults of a tool's packages; none if they cannot be looked up."""
    from alita_tui.registry.proposals import faults_by_name
    from alita_tui.sandbox.faults import FaultDatabase

    packages = tool.record.lock.packages
    if not packages:
        return tool
    book = FaultDatabase(app.loaded.settings.web.osv_url)
    listed = await book.faults(packages)
    return msgspec.structs.replace(tool, faults=faults_by_name(packages, listed.known))


async def proposed(
    app: AppContext, names: Sequence[str] = (), *, faults: bool = True
) -> tuple[Proposal, ...]:
    """Return the proposals for tools, by default for all, without those built lately or waiting for a verdict."""
    from alita_tui.registry.proposals import proposals
    from alita_tui.registry.proposed import Proposed

    built = Proposed(app.tool_documents, now)
    waiting = {build.name for build in await asyncio.to_thread(app.inbox.pending)}
    return tuple(
        proposal
        for proposal in proposals(await gather(app, names, faults=faults), now())
        if not built.lately(proposal.proposal_id) and proposal.name not in waiting
    )


def left_today(app: AppContext) -> int:
    """Return how many more proposals may be built today."""
    from alita_tui.registry.proposed import Proposed

    return max(0, app.loaded.settings.improve.per_day - Proposed(app.tool_documents, now).today())


async def build(app: AppContext, proposal: Proposal) -> tuple[str, str, str] | None:
    """Build a proposal in a session of its own; return the session, how its task ended, and why.

    Return None if another process builds it, or used up the day's share. Nothing is approved here: what passes
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
    ended = next(envelope.event for envelope in session.bus.history.newest(TaskFinished))
    assert isinstance(ended, TaskFinished)
    gave_up = any(True for _ in session.bus.history.newest(e.BuildFailed))
    if ended.outcome in _NOT_ITS_FAULT or (ended.outcome == "failed" and not gave_up):
        built.forget(proposal.proposal_id)
    return session.session_id, ended.outcome, ended.reason or ended.answer
