"""Rules that approve builds without asking, by capabilities and evidence. Pure.

A rule says how much a build may ask for, never what it is called. No rule can cover secrets, calls of
other tools, requirements that no approved tool has, missing evidence, code whose reach is unknown, or any risk.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import Literal

import msgspec

from alita_tui.events import Capabilities, GateName, Lasting, LockedPackage, Value, digest_of
from alita_tui.events.build import CHECKS
from alita_tui.spine.grants import faults, named_tools, phrases
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.risk import risks

_REACH = ("none", "read", "write")
_NEVER = frozenset(
    "ast/dynamic ast/introspection ast/test-detection ast/state ast/later ast/main ast/pattern ast/clock ast/time-zone"
    " ast/locale ast/process".split()
)
"""Findings that no rule may ignore."""
MOST_LINES, MOST_CALLS = 500, 20
"""Upper bounds of rules: lines of code that can be read, model calls that can be paid for."""


def rule_problems(rule: Rule) -> tuple[str, ...]:
    """Return the faults of a rule, each with what to write instead; empty if it is valid."""
    problems = []
    for host in rule.network:
        if any(sign in host for sign in "*?[]{}|^$") or faults(Capabilities(network=(host,))):
            problems.append(
                f'network: {host!r} is no single host; write each one out, such as "api.example.org:443"'
            )
    if not rule.gates:
        problems.append(
            "gates: an empty list asks for no evidence; leave gates out, and every check has to pass"
        )
    if not 1 <= rule.max_lines <= MOST_LINES:
        problems.append(f"max_lines: write a number from 1 to {MOST_LINES}, not {rule.max_lines}")
    if not 0 <= rule.model_calls <= MOST_CALLS:
        problems.append(f"model_calls: write a number from 0 to {MOST_CALLS}, not {rule.model_calls}")
    return tuple(problems)


class Rule(Value, frozen=True, forbid_unknown_fields=True):
    """A rule of `policy.toml`. Whatever it does not name is not allowed."""

    name: str
    network: tuple[str, ...] = ()
    """Hosts that a build may request, as drafts write them: `name:port`."""
    workspace: Literal["none", "read", "write"] = "none"
    """Maximum access to the workspace."""
    model_calls: int = 0
    """Maximum model calls per run."""
    requirements: Literal["none", "known"] = "none"
    """`known`: exactly the wheels of tools that a person approved."""
    gates: tuple[GateName, ...] = tuple(CHECKS)
    """Accepted from older files but without effect: every check must have run and passed."""
    new_tools_only: bool = False
    """True if it covers only new tools, not new versions."""
    max_lines: int = 200
    """Maximum lines of code."""
    lasting: Lasting = "library"
    until: date | None = None
    """The last day on which it is valid."""
    revoked: str = ""
    """When and by whom it was revoked."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the rule, as named in the audit log."""
        return digest_of(msgspec.json.encode(self, order="sorted").decode())

    @property
    def reach(self) -> str:
        """What it covers, in one line."""
        parts = [f"hosts {', '.join(self.network)}"] if self.network else ["no network"]
        parts.append(f"workspace {self.workspace}" if self.workspace != "none" else "no workspace")
        parts.append(f"{self.model_calls} model calls" if self.model_calls else "no model")
        parts.append("wheels of approved tools" if self.requirements == "known" else "no requirements")
        parts.append(f"every check passed, at most {self.max_lines} lines")
        parts += ["new tools only"] if self.new_tools_only else []
        parts += ["for the task only"] if self.lasting == "task" else []
        parts += [f"until {self.until}"] if self.until else []
        return "; ".join(parts)


def unmet_conditions(
    rule: Rule, build: BuildState, attempt: Attempt, approved: Collection[LockedPackage], today: date
) -> tuple[str, ...]:
    """Return the reasons why a rule does not approve a build; empty if it does.

    `approved` are the wheels of tools that a person approved.
    """
    reasons = [f"it was revoked {rule.revoked}"] if rule.revoked else []
    if rule.until is not None and today > rule.until:
        reasons.append(f"it held until {rule.until}")
    return (
        *reasons,
        *_request_reasons(rule, attempt),
        *_requirement_reasons(rule, attempt, approved),
        *_evidence_reasons(rule, build, attempt),
    )


def _request_reasons(rule: Rule, attempt: Attempt) -> list[str]:
    requested = attempt.draft.capabilities
    reasons = [f"it asks for the secret {name}, which no rule covers" for name in requested.secrets]
    reasons += [f"it asks to call {name}, which no rule covers" for name in named_tools(requested)]
    reasons += [f"it asks for the host {host}" for host in requested.network if host not in rule.network]
    reasons += ["it asks for a browser, which no rule covers"] if requested.browser else []
    if _REACH.index(requested.workspace) > _REACH.index(rule.workspace):
        reasons.append(f"it asks for {phrases(Capabilities(workspace=requested.workspace))[0]}")
    if requested.model_calls > rule.model_calls:
        reasons.append(f"it asks for {requested.model_calls} model calls a run")
    return reasons


def _requirement_reasons(rule: Rule, attempt: Attempt, approved: Collection[LockedPackage]) -> list[str]:
    packages = attempt.lock.packages if attempt.lock else ()
    if attempt.draft.requirements and not packages:
        return ["its requirements are not pinned"]
    if rule.requirements == "none":
        return [f"it needs {package.name} {package.version}" for package in packages]
    approved_wheels = {
        (package.name, package.version, package.hashes) for package in approved if package.hashes
    }
    return [
        f"it needs {package.name} {package.version}, which no approved tool has"
        for package in packages
        if (package.name, package.version, package.hashes) not in approved_wheels
    ]


def _evidence_reasons(rule: Rule, build: BuildState, attempt: Attempt) -> list[str]:
    # The rule itself judges what the build asks for; every other risk counts.
    withheld = frozenset(attempt.draft.capabilities.items)
    reasons = [risk.text for risk in risks(build, attempt, withheld)]
    # A person may accept these; a rule cannot, even if the review gives them little weight.
    reasons += [
        f"{finding.rule}: {finding.text}"
        for finding in attempt.findings
        if finding.rule in _NEVER and finding.severity == "low"
    ]
    if attempt.author != "model":
        reasons.append("it was edited by a person, who decides on it")
    if rule.new_tools_only and build.parent is not None:
        reasons.append("it would replace another version")
    if (lines := attempt.draft.code.count("\n")) > rule.max_lines:
        reasons.append(f"it has {lines} lines")
    states = {gate.gate: gate.state for gate in attempt.gates}
    reasons += [
        f"{CHECKS[gate].title} has not passed ({states.get(gate, 'not run')})"
        for gate in CHECKS
        if states.get(gate) != "passed"
    ]
    return reasons
