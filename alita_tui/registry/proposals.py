"""Proposals to improve the library, derived from the record of its tools. Pure: nothing is changed.

A proposal is a build that waits for a verdict, or a command for the person. Each states its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from alita_tui.events import (
    Capabilities,
    Json,
    LockedPackage,
    Reliability,
    ToolDraft,
    ToolRecord,
    Track,
    Value,
)
from alita_tui.registry.stored import parsed_time
from alita_tui.registry.trust import RELIED_ON, failing
from alita_tui.spine.fence import defused, fenced
from alita_tui.spine.ports.builds import BuildOrder, FailedCall
from alita_tui.spine.requirements import NPM, distribution, raised
from alita_tui.spine.reserved_names import reserved
from alita_tui.spine.text import counted, one_line

Kind = Literal["repair", "upgrade", "repin", "describe", "generalise", "narrow", "split", "retire"]
ORDER: tuple[Kind, ...] = (
    "repair", "upgrade", "repin", "describe", "generalise", "narrow", "split", "retire",
)  # fmt: skip
"""The kinds, most urgent first."""

BYPASSED = 3
"""How often a tool is shown and not used before something is proposed."""
_RUNS = 5
"""Number of runs after which a capability that was never used counts as not needed."""
_NEW_FOR = timedelta(days=30)
"""Time during which no proposal is made to retire a tool that was never run."""
_CALLS_PER_GROUP = 3
"""Calls that each group of parameters needs for the proposal to split a tool."""
_EXAMPLES = 6
_QUERY = 160


class SimilarTool(Value, frozen=True):
    """Another tool that gives the same answers to all or many probes."""

    record: ToolRecord
    same_answers: int
    probes: int

    @property
    def alike(self) -> bool:
        """True if at least 90 % of the answers are the same."""
        return self.same_answers >= 0.9 * self.probes


class ToolFacts(Value, frozen=True):
    """What is recorded about the current version of a tool."""

    record: ToolRecord
    """Complete, as read from its files."""
    track: Track
    reliability: Reliability
    failures: tuple[FailedCall, ...] = ()
    """The newest failed calls that have not succeeded since."""
    served: int = 0
    """Recorded successful runs, on which `unused` is based."""
    unused: tuple[str, ...] = ()
    """Grants that it never used in these runs, written as in `Capabilities.items`."""
    faults: tuple[tuple[str, str], ...] = ()
    """Locked packages with known faults, each with the ids of these."""
    calls: tuple[Json, ...] = ()
    """Arguments of recorded calls that succeeded."""
    called_by: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    """Tools that it calls in an older version than the current one, as `NAME v1, v2 runs`."""
    twins: tuple[SimilarTool, ...] = ()
    pinned: bool = False


class Proposal(Value, frozen=True):
    """One improvement of the library."""

    proposal_id: str
    kind: Kind
    name: str
    version: int
    reason: str
    """The evidence for it, in one line."""
    order: BuildOrder | None = None
    """The build; None if the improvement is a command."""
    command: str = ""
    """The command that the person can give; empty if the improvement is a build."""


def faults_by_name(
    packages: Iterable[LockedPackage], known_ids: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, str], ...]:
    """Return `ToolFacts.faults` of locked packages, at most three ids each.

    `known_ids` are by label, because a lock may hold two versions of one package.
    """
    ids_by_name: dict[str, list[str]] = {}
    for package in packages:
        ids_by_name.setdefault(package.name, []).extend(known_ids.get(package.label, ()))
    return tuple((name, ", ".join([*dict.fromkeys(ids)][:3])) for name, ids in ids_by_name.items() if ids)


def proposals(tools: Iterable[ToolFacts], now: datetime) -> tuple[Proposal, ...]:
    """Return the proposals, most urgent first; for each tool its first build, or else its first command."""
    chosen: list[Proposal] = []
    for tool in tools:
        tool_proposals = list(_proposals_for(tool, now))
        builds = [proposal for proposal in tool_proposals if proposal.order is not None]
        chosen += builds[:1] or tool_proposals[:1]
    return tuple(sorted(chosen, key=lambda proposal: (ORDER.index(proposal.kind), proposal.name)))


def _proposals_for(tool: ToolFacts, now: datetime) -> Iterator[Proposal]:
    if tool.record.origin == "remote":  # a remote tool cannot be rebuilt
        yield from filter(None, (_retire_unused(tool, now),))
        return
    for propose in (_retire_unused, _repair, _upgrade, _repin, _describe, _merge, _narrow, _split):
        proposal = propose(tool, now)
        if proposal is not None and proposal.order is not None and reserved(str(proposal.order.name)):
            # Nothing can be built under a starter's name. Known faults of its packages are told all the same.
            proposal = _retire(tool.record, proposal.reason) if proposal.kind == "upgrade" else None
        if proposal is not None:
            yield proposal
            if proposal.kind == "retire":
                return


def _repair(tool: ToolFacts, _: datetime) -> Proposal | None:
    rejected = [outcome for outcome in tool.track.outcomes[-5:] if outcome.grade == "down"]
    unreliable = len(tool.failures) >= 2 or failing(tool.track) or tool.reliability.value < RELIED_ON
    if not rejected and not (unreliable and tool.failures):
        return None
    remarks = [f"- {defused(one_line(outcome.text, 300))}" for outcome in rejected if outcome.text]
    details = ["Calls of it fail or give what is not wanted. Its good results have to stay as they are."]
    if remarks:
        details += ["The person said of its results:", *remarks]
    reason = f"relied on {tool.reliability.words}"
    if tool.failures:
        reason += f"; {counted(len(tool.failures), 'failing call')}, which become tests"
    return _build(
        tool,
        "repair",
        reason,
        goal=f"Repair {tool.record.draft.name}: {tool.record.draft.description}",
        details="\n".join(details),
        failures=tool.failures[:_EXAMPLES],
    )


def _upgrade(tool: ToolFacts, _: datetime) -> Proposal | None:
    if not tool.faults:
        return None
    draft, faults = tool.record.draft, "; ".join(f"{package} ({ids})" for package, ids in tool.faults)
    faulty = {package for package, _ in tool.faults}
    # If a package is locked in two versions, the direct one, which a requirement names, is put last and wins.
    packages = sorted(tool.record.lock.packages, key=lambda package: package.direct)
    locked = {package.name: package.version for package in packages}
    distributions = {requirement: distribution(requirement) for requirement in draft.requirements}
    loosened = (
        raised(requirement, locked[name]) or requirement if name in faulty and name in locked else requirement
        for requirement, name in distributions.items()
    )
    # An added requirement does not change the dependencies that an npm package installs for itself.
    below = {name for name in faulty - {*distributions.values()} if not name.startswith(NPM)}
    deeper = (raised(name, locked[name]) for name in below if name in locked)
    requirements = tuple(sorted(filter(None, (*loosened, *deeper))))
    if {*requirements} == {*draft.requirements}:
        return None
    return _build(
        tool,
        "upgrade",
        f"known faults: {one_line(faults, 300)}",
        goal=f"The same tool with packages that have no known fault: {', '.join(sorted(faulty))}",
        draft=msgspec.structs.replace(draft, requirements=requirements),
    )


def _repin(tool: ToolFacts, _: datetime) -> Proposal | None:
    if not tool.behind:
        return None
    return _build(
        tool,
        "repin",
        f"it calls {'; '.join(tool.behind)}",
        goal="The same tool, calling the versions that run now",
        draft=tool.record.draft,
    )


def _describe(tool: ToolFacts, _: datetime) -> Proposal | None:
    bypassed = tool.track.bypassed
    if len(bypassed) < BYPASSED:
        return None
    needs = [f"- {one_line(showing.query, _QUERY)}" for showing in bypassed[-_EXAMPLES:]]
    instead = sorted({showing.instead for showing in bypassed if showing.instead})
    if instead:
        needs.append(f"Built instead: {one_line(', '.join(instead))}")
    searches = "\n".join(needs)
    details = (
        "It was shown for these needs, in a model's words, and not used:\n"
        f"{fenced('searches of earlier sessions', searches)}\n"
        "Keep what it does. Say in its description and its parameters what it is for and what it is not for, or let "
        "it serve these needs where that takes no more than a parameter."
    )
    return _build(
        tool,
        "describe",
        f"shown and passed by {len(bypassed)} times",
        goal=f"Make clear what {tool.record.draft.name} is for: {tool.record.draft.description}",
        details=details,
    )


def _merge(tool: ToolFacts, _: datetime) -> Proposal | None:
    """Return a proposal to merge two similar tools; only for the one that is used more."""
    for similar in tool.twins:
        twin = similar.record
        if (tool.record.runs, twin.draft.name) < (twin.runs, tool.record.draft.name):
            continue
        evidence = (
            f"the same answers to {similar.same_answers} of {similar.probes} probes "
            f"as {twin.draft.name} v{twin.version}"
        )
        if similar.alike:
            return _retire(twin, f"{tool.record.draft.name} gives {evidence}, and is used more")
        return _build(
            tool,
            "generalise",
            evidence,
            goal=f"One tool in place of {tool.record.draft.name} and {twin.draft.name}: "
            f"{tool.record.draft.description} {twin.draft.description}",
            details="Where they differ, a parameter with a default decides, so that calls as they are now stay valid.",
            merges=(twin.draft,),
        )
    return None


def _narrow(tool: ToolFacts, _: datetime) -> Proposal | None:
    if not tool.unused or tool.served < _RUNS:
        return None
    draft = tool.record.draft
    narrowed = draft.capabilities.without(tool.unused)
    if "workspace:write" in tool.unused and "workspace:read" not in tool.unused:
        narrowed = msgspec.structs.replace(narrowed, workspace="read")
    if narrowed == draft.capabilities or not narrowed.within(_widest(draft.capabilities)):
        return None
    return _build(
        tool,
        "narrow",
        f"{counted(tool.served, 'run')} never used {', '.join(map(str, tool.unused))}",
        goal=f"The same tool without {', '.join(tool.unused)}",
        draft=msgspec.structs.replace(draft, capabilities=narrowed),
    )


def _widest(capabilities: Capabilities) -> Capabilities:
    """Return the capabilities with read access in place of write access."""
    return (
        capabilities
        if capabilities.workspace != "write"
        else msgspec.structs.replace(capabilities, workspace="read")
    )


def _split(tool: ToolFacts, _: datetime) -> Proposal | None:
    """Propose a separate tool for calls that share no optional parameter with the others."""
    schema = tool.record.draft.input_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return None
    optional = {str(name) for name in properties} - {str(name) for name in required or ()}
    groups: dict[frozenset[str], int] = {}
    for arguments in tool.calls:
        if isinstance(arguments, dict) and (used := frozenset(optional & set(arguments))):
            groups[used] = groups.get(used, 0) + 1
    common = sorted((used for used, count in groups.items() if count >= _CALLS_PER_GROUP), key=sorted)
    if (
        len(common) < 2
        or len(groups) > len(common)
        or any(a & b for a in common for b in common if a is not b)
    ):
        return None
    name, parameters = tool.record.draft.name, common[-1]
    new_name = f"{name}_by_{sorted(parameters)[0]}"[:64]
    group_texts = " and ".join(f"{groups[used]} with {', '.join(sorted(used))}" for used in common)
    return _build(
        tool,
        "split",
        f"its calls fall apart: {one_line(group_texts, 200)}",
        new_name=new_name,
        goal=f"What {name} does when it is given {', '.join(sorted(parameters))}, as a tool of its own",
        details=f"This is {name}, of which the new tool takes only that part:\n{tool.record.draft.code}",
    )


def _retire_unused(tool: ToolFacts, now: datetime) -> Proposal | None:
    record = tool.record
    if tool.pinned or tool.called_by or record.origin == "starter":
        return None
    if record.state == "stale" and not tool.failures:
        return _retire(record, "it lay idle for 90 days, or its last runs failed")
    shadow = {showing.instead for showing in tool.track.bypassed}
    if len(tool.track.bypassed) >= BYPASSED and len(shadow) == 1 and "" not in shadow and not record.runs:
        return _retire(record, f"{next(iter(shadow))} was built and used in its place each time")
    if record.runs == 0 and now - parsed_time(record.created_at, now) > _NEW_FOR:
        return _retire(record, f"it was never run since {record.created_at[:10]}")
    return None


def _retire(record: ToolRecord, reason: str) -> Proposal:
    name = record.draft.name
    return Proposal(
        proposal_id=f"retire:{name}:{record.version}",
        kind="retire",
        name=name,
        version=record.version,
        reason=reason,
        command=f"alita tools archive {name} --version {record.version}",
    )


def _build(
    tool: ToolFacts,
    kind: Kind,
    reason: str,
    *,
    goal: str,
    details: str = "",
    new_name: str = "",
    failures: Sequence[FailedCall] = (),
    merges: tuple[ToolDraft, ...] = (),
    draft: ToolDraft | None = None,
) -> Proposal:
    name, version = tool.record.draft.name, tool.record.version
    order = BuildOrder(
        action_id="",
        name=new_name or name,
        goal=one_line(goal, 600),
        details=details,
        failures=tuple(failures),
        merges=merges,
        draft=draft,
        needs=tool.record.draft.capabilities,
    )
    return Proposal(
        proposal_id=f"{kind}:{name}:{version}",
        kind=kind,
        name=name,
        version=version,
        reason=str(one_line(reason, 400)),
        order=order,
    )
