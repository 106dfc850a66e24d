"""Proposals to improve the library, from what is known about its tools; nothing is changed. Pure.

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
from alita_tui.registry.trust import RELIED_ON, failing
from alita_tui.spine.fence import defused, fenced
from alita_tui.spine.ports.builds import BuildOrder, FailedCall
from alita_tui.spine.requirements import NPM, distribution, raised
from alita_tui.spine.text import counted, one_line

Kind = Literal["repair", "upgrade", "repin", "describe", "generalise", "narrow", "split", "retire"]
ORDER: tuple[Kind, ...] = (
    "repair", "upgrade", "repin", "describe", "generalise", "narrow", "split", "retire",
)  # fmt: skip
"""The most pressing first."""

BYPASSED = 3
"""How often a tool is shown and not used before something is proposed."""
_RUNS = 5
"""Runs after which a capability that was never used is not needed."""
_NEW = timedelta(days=30)
"""How long a tool that was never run is left alone."""
_APART = 3
"""Calls of either kind from which a tool does two things."""
_MOST = 6
_QUERY = 160


class Twins(Value, frozen=True):
    """Another tool that gives the same answers, to all probes or to many of them."""

    near: ToolRecord
    same: int
    probes: int

    @property
    def alike(self) -> bool:
        """True if they are practically the same."""
        return self.same >= 0.9 * self.probes


class Known(Value, frozen=True):
    """What is known of the version of a tool that runs."""

    record: ToolRecord
    """Whole, as its files have it."""
    track: Track
    reliability: Reliability
    failures: tuple[FailedCall, ...] = ()
    """The newest calls that failed and did not succeed since."""
    served: int = 0
    """Recorded successful runs, on which `unused` is based."""
    unused: tuple[str, ...] = ()
    """What it was granted and never asked for in these runs, as in `Capabilities.items`."""
    faults: tuple[tuple[str, str], ...] = ()
    """Locked packages with a known fault, each with its ids."""
    calls: tuple[Json, ...] = ()
    """Arguments of recorded calls that succeeded."""
    called_by: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    """Tools that it calls in an older version than the one that runs, as `NAME v1, v2 runs`."""
    twins: tuple[Twins, ...] = ()
    pinned: bool = False


class Proposal(Value, frozen=True):
    """One thing that would make the library better."""

    proposal_id: str
    kind: Kind
    name: str
    version: int
    reason: str
    """What it rests on, in one line."""
    order: BuildOrder | None = None
    """The build; None if a command does it."""
    command: str = ""
    """What does it, for the person to give."""


def faults_by_name(
    packages: Iterable[LockedPackage], known: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, str], ...]:
    """Return `Known.faults` of locked packages, at most three each. `known` is by label: two may be versions of one."""
    found: dict[str, list[str]] = {}
    for package in packages:
        found.setdefault(package.name, []).extend(known.get(package.label, ()))
    return tuple((name, ", ".join([*dict.fromkeys(ids)][:3])) for name, ids in found.items() if ids)


def proposals(tools: Iterable[Known], now: datetime) -> tuple[Proposal, ...]:
    """Return the proposals, the most urgent first; for each tool its first build, else its first command."""
    chosen: list[Proposal] = []
    for tool in tools:
        made = list(_of(tool, now))
        builds = [proposal for proposal in made if proposal.order is not None]
        chosen += builds[:1] or made[:1]
    return tuple(sorted(chosen, key=lambda proposal: (ORDER.index(proposal.kind), proposal.name)))


def _of(tool: Known, now: datetime) -> Iterator[Proposal]:
    if tool.record.origin == "remote":  # a remote tool cannot be rebuilt
        yield from filter(None, (_retire_unused(tool, now),))
        return
    for propose in (_retire_unused, _repair, _upgrade, _repin, _describe, _merge, _narrow, _split):
        proposal = propose(tool, now)
        if proposal is not None:
            yield proposal
            if proposal.kind == "retire":
                return


def _repair(tool: Known, _: datetime) -> Proposal | None:
    wrong = [outcome for outcome in tool.track.outcomes[-5:] if outcome.grade == "down"]
    often = len(tool.failures) >= 2 or failing(tool.track) or tool.reliability.value < RELIED_ON
    if not wrong and not (often and tool.failures):
        return None
    remarks = [f"- {defused(one_line(outcome.text, 300))}" for outcome in wrong if outcome.text]
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
        failures=tool.failures[:_MOST],
    )


def _upgrade(tool: Known, _: datetime) -> Proposal | None:
    if not tool.faults:
        return None
    draft, listed = tool.record.draft, "; ".join(f"{package} ({ids})" for package, ids in tool.faults)
    faulty = {package for package, _ in tool.faults}
    # Of two versions of one package, a requirement is about the one that it names.
    packages = sorted(tool.record.lock.packages, key=lambda package: package.direct)
    locked = {package.name: package.version for package in packages}
    asked = {requirement: distribution(requirement) for requirement in draft.requirements}
    loosened = (
        raised(requirement, locked[name]) or requirement if name in faulty and name in locked else requirement
        for requirement, name in asked.items()
    )
    # A requirement besides does not change what a package of npm brings for itself.
    below = {name for name in faulty - {*asked.values()} if not name.startswith(NPM)}
    deeper = (raised(name, locked[name]) for name in below if name in locked)
    requirements = tuple(sorted(filter(None, (*loosened, *deeper))))
    if {*requirements} == {*draft.requirements}:
        return None
    return _build(
        tool,
        "upgrade",
        f"known faults: {one_line(listed, 300)}",
        goal=f"The same tool with packages that have no known fault: {', '.join(sorted(faulty))}",
        draft=msgspec.structs.replace(draft, requirements=requirements),
    )


def _repin(tool: Known, _: datetime) -> Proposal | None:
    if not tool.behind:
        return None
    return _build(
        tool,
        "repin",
        f"it calls {'; '.join(tool.behind)}",
        goal="The same tool, calling the versions that run now",
        draft=tool.record.draft,
    )


def _describe(tool: Known, _: datetime) -> Proposal | None:
    passed = tool.track.bypassed
    if len(passed) < BYPASSED:
        return None
    needs = [f"- {one_line(showing.query, _QUERY)}" for showing in passed[-_MOST:]]
    instead = sorted({showing.instead for showing in passed if showing.instead})
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
        f"shown and passed by {len(passed)} times",
        goal=f"Make clear what {tool.record.draft.name} is for: {tool.record.draft.description}",
        details=details,
    )


def _merge(tool: Known, _: datetime) -> Proposal | None:
    """Return how to merge two tools that do the same, or nearly; proposed only for the more used one."""
    for twins in tool.twins:
        twin = twins.near
        if (tool.record.runs, twin.draft.name) < (twin.runs, tool.record.draft.name):
            continue
        same = (
            f"the same answers to {twins.same} of {twins.probes} probes as {twin.draft.name} v{twin.version}"
        )
        if twins.alike:
            return _retire(twin, f"{tool.record.draft.name} gives {same}, and is used more")
        return _build(
            tool,
            "generalise",
            same,
            goal=f"One tool in place of {tool.record.draft.name} and {twin.draft.name}: "
            f"{tool.record.draft.description} {twin.draft.description}",
            details="Where they differ, a parameter with a default decides, so that calls as they are now stay valid.",
            merges=(twin.draft,),
        )
    return None


def _narrow(tool: Known, _: datetime) -> Proposal | None:
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


def _split(tool: Known, _: datetime) -> Proposal | None:
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
    often = sorted((used for used, count in groups.items() if count >= _APART), key=sorted)
    if len(often) < 2 or len(groups) > len(often) or any(a & b for a in often for b in often if a is not b):
        return None
    name, part = tool.record.draft.name, often[-1]
    own = f"{name}_by_{sorted(part)[0]}"[:64]
    listed = " and ".join(f"{groups[used]} with {', '.join(sorted(used))}" for used in often)
    return _build(
        tool,
        "split",
        f"its calls fall apart: {one_line(listed, 200)}",
        named=own,
        goal=f"What {name} does when it is given {', '.join(sorted(part))}, as a tool of its own",
        details=f"This is {name}, of which the new tool takes only that part:\n{tool.record.draft.code}",
    )


def _retire_unused(tool: Known, now: datetime) -> Proposal | None:
    record = tool.record
    if tool.pinned or tool.called_by or record.origin == "starter":
        return None
    if record.state == "stale" and not tool.failures:
        return _retire(record, "it lay idle for 90 days, or its last runs failed")
    shadow = {showing.instead for showing in tool.track.bypassed}
    if len(tool.track.bypassed) >= BYPASSED and len(shadow) == 1 and "" not in shadow and not record.runs:
        return _retire(record, f"{next(iter(shadow))} was built and used in its place each time")
    if record.runs == 0 and now - _when(record.created_at, now) > _NEW:
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
    tool: Known,
    kind: Kind,
    reason: str,
    *,
    goal: str,
    details: str = "",
    named: str = "",
    failures: Sequence[FailedCall] = (),
    merges: tuple[ToolDraft, ...] = (),
    draft: ToolDraft | None = None,
) -> Proposal:
    name, version = tool.record.draft.name, tool.record.version
    order = BuildOrder(
        action_id="",
        name=named or name,
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


def _when(text: str, otherwise: datetime) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return at if at.tzinfo else at.replace(tzinfo=otherwise.tzinfo)
