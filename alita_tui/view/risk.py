"""The risks of a build, from what was observed, each with a name by which it is accepted. Pure."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable

import msgspec

from alita_tui.events import Capabilities, Finding
from alita_tui.events.build import CHECKS
from alita_tui.spine.grants import ON_HOST, phrases, tool_grants
from alita_tui.spine.redaction import MARK
from alita_tui.spine.requirements import distribution
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import counted, hidden_characters
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import newly
from alita_tui.view.lookalikes import lookalikes, spelled

_OF_RULE = {
    "ast/introspection": "introspects", "ast/dynamic": "code-not-on-page", "ast/process": "processes",
    "ast/network": "network-undeclared", "ast/files": "changes-files", "ast/environment": "environment",
    "ast/test-detection": "detects-tests", "ast/main": "other-main", "ast/state": "keeps-state", "ast/clock": "clock",
    "ast/random": "chance", "ast/time-zone": "time-zone", "ast/locale": "locale", "ast/pattern": "slow-pattern",
    "ast/cuts-off": "cuts-off",
    "ast/secret": "secret-in-code", "ast/private-path": "private-path",
    "ast/addressed": "speaks-to-the-reader", "named-elsewhere": "named-elsewhere",
    "ast/format": "format-walk", "ast/reads": "reads-files", "ast/at-definition": "runs-when-loaded",
    "ast/later": "runs-later", "ast/hidden": "hidden-characters", "ast/imports": "imports", "tests": "weak-tests",
    "bandit": "not-scanned", "contract": "form", "schema": "schema",
}  # fmt: skip
"""Static-review rule → name of the risk; for bandit see `_OF_BANDIT`."""
_BANDIT = {
    "code-not-on-page": "B102 B307", "file-permissions": "B103", "listens-everywhere": "B104 B612",
    "secret-in-code": "B105 B106 B107", "shared-temp-folder": "B108", "swallowed-errors": "B110 B112",
    "no-timeout": "B113", "debug-server": "B201", "unpacks-anywhere": "B202",
    "loads-objects": "B301 B302 B403 B506 B614", "weak-cryptography": "B303 B304 B305 B324 B413 B505",
    "guessable-file-name": "B306", "unescaped-html": "B308 B701 B702 B703 B704", "opens-any-address": "B310",
    "weak-chance": "B311", "unencrypted-connection": "B312 B321 B401 B402 B415 B508 B509",
    "unsafe-xml": "B313 B314 B315 B316 B317 B318 B319 B320 B405 B406 B407 B408 B409 B410 B411",
    "unverified-connection": "B323 B501 B502 B503 B504 B507",
    "processes": "B404 B601 B602 B603 B604 B605 B606 B607 B609 B412", "sql-from-text": "B608 B610 B611",
    "hidden-characters": "B613", "unpinned-download": "B615",
}  # fmt: skip
"""Bandit finding → name of the risk; unknown findings are `code-scan`."""
_OF_BANDIT = {test_id: name for name, ids in _BANDIT.items() for test_id in ids.split()}
_BANDIT_ID = re.compile(r"B\d{3}")
_ORDER = (
    "other-bytes on-host not-python secret-in-code speaks-to-the-reader named-elsewhere hidden-characters lookalikes"
    " foreign-names gains tests-fail tests-not-run no-tests introspects code-not-on-page format-walk"
    " detects-tests processes private-path network-undeclared reads-files reach never-run keeps-state"
    " slow-pattern other-main hidden-tests conditions schema-inputs slow cuts-off schema weak-tests"
    " literal-leak examples-fail other-results packages runs-later runs-when-loaded environment changes-files"
    " clock chance time-zone locale undeclared-import not-reviewed review-failed not-pinned twin not-checked"
    " faults-unknown"
).split()
"""Order of risks, most telling first; requested capabilities come last."""
_ASKED = ("network", "secrets", "workspace", "model", "browser", "tools")
FAULTS_UNKNOWN = "faults-unknown"
"""The risk that no fault database answers. It is not about the draft, so a session asks for it once."""
_RISK_OF_ITEM = {"network": "network", "workspace": "workspace", "model": "model", "browser": "browser"}


class Risk(msgspec.Struct, frozen=True):
    """A risk to know before deciding."""

    name: str
    """Short and stable: what a person types to accept it. Similar risks share a name."""
    text: str
    serious: bool = True
    """Whether it is shown as serious. Every risk has to be accepted by name, once."""
    line: int = 0
    """Line of the code, if any."""
    accepted: bool = False
    """Whether a person accepted it before in this session: it is shown, and needs no name again."""


def risks(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> tuple[Risk, ...]:
    """Return all risks of a build, most serious first.

    Withheld capabilities, as in `Capabilities.items`, are not a risk.
    """
    all_risks = [
        *_bytes(build, attempt),
        *_tests(attempt),
        *_review(attempt),
        *_gained(build, attempt, withheld),
        *_asked(attempt.draft.capabilities.without(withheld)),
        *(
            Risk("undeclared-import", f"imports {name}, which no requirement declares")
            for name in undeclared(attempt)
        ),
        *_requirements(attempt),
        *_gates(attempt),
    ]
    return tuple(sorted(dict.fromkeys(all_risks), key=_rank))


def draft_risks(wants: Capabilities, findings: Iterable[Finding]) -> tuple[Risk, ...]:
    """Return the risks of a draft outside of a session: its requests and its static review."""
    heavy = (
        _finding(finding)
        for finding in findings
        if finding.blocking or finding.severity in ("high", "medium")
    )
    return tuple(sorted(dict.fromkeys((*heavy, *_asked(wants))), key=_rank))


def by_their_names(given: Collection[str]) -> list[str]:
    """Return current names for the names a person gave; former names are understood."""
    ids = (name.upper() for name in given if _BANDIT_ID.fullmatch(name.upper()))
    known = {test_id: _OF_BANDIT.get(test_id, "code-scan") for test_id in ids}
    return [known.get(name.upper(), name) for name in given]


def names_of(given: Iterable[Risk]) -> tuple[str, ...]:
    """Return the distinct names by which risks have yet to be accepted, in order."""
    return tuple(dict.fromkeys(risk.name for risk in given if not risk.accepted))


def _rank(risk: Risk) -> tuple[int, bool]:
    """Return the sort key of a risk: by kind, else by weight; requests last."""
    if risk.name in _ASKED:
        return len(_ORDER) + 1, False
    place = risk.name if risk.name in _ORDER else "network-undeclared" if risk.serious else "not-pinned"
    return _ORDER.index(place), not risk.serious


def _asked(wants: Capabilities) -> list[Risk]:
    """Return a risk for each kind of requested capability, and for what it could use through another tool."""
    own = msgspec.structs.replace(wants, tools=())
    asked_for = [
        Risk(_RISK_OF_ITEM.get(item.partition(":")[0], "secrets"), f"asks for {phrase}")
        for item, phrase in zip(own.items, phrases(own), strict=True)
    ]
    through = (
        grant for grant in tool_grants(wants) if grant.may
    )  # one that only computes gives it nothing more
    for grant in through:
        kind = "on-host" if ON_HOST in grant.may else "tools"
        asked_for.append(Risk(kind, f"may use {grant.uses} by calling {grant.label}"))
    return asked_for


def _gained(build: BuildState, attempt: Attempt, withheld: Collection[str]) -> list[Risk]:
    """Return the risk that a new version may do more than the previous one."""
    if build.parent is None or not (more := newly(build, attempt, withheld)):
        return []
    return [Risk("gains", f"may do what v{build.version - 1} could not: {'; '.join(more)}", serious=False)]


def _gates(attempt: Attempt) -> list[Risk]:
    """Return checks that failed, could not run, or are not on record."""
    gate_risks = []
    for gate in attempt.gates:
        if gate.state == "failed":
            text = f"{CHECKS[gate.gate].title} failed: {gate.summary}"
            at = re.search(r": (\d+)", gate.summary) if str(gate.gate) == "coverage" else None
            gate_risks.append(Risk(CHECKS[gate.gate].risk, text, line=int(at[1]) if at else 0))
        elif gate.state == "skipped" and gate.no_fault_database:
            gate_risks.append(
                Risk(FAULTS_UNKNOWN, gate.summary, serious=False, accepted=bool(gate.accepted_with))
            )
        elif gate.state == "skipped":
            gate_risks.append(Risk("not-checked", f"{CHECKS[gate.gate].title} could not run: {gate.summary}"))
    if attempt.unchecked:
        listed = ", ".join(CHECKS[gate_name].title for gate_name in attempt.unchecked)
        gate_risks.append(Risk("not-checked", f"not run, or not on record: {listed}"))
    return gate_risks


def _bytes(build: BuildState, attempt: Attempt) -> list[Risk]:
    byte_risks = []
    python = attempt.draft.language == "python"
    texts = (("code", attempt.draft.code), ("tests", attempt.draft.tests))
    if hidden := sum(hidden_characters(text) for _, text in texts):
        byte_risks.append(
            Risk(
                "hidden-characters", f"{counted(hidden, 'hidden character')} in code or tests, shown as ⟨U+…⟩"
            )
        )
    for what, text in texts:
        byte_risks += (named := _names(what, text) if python or what == "tests" else [])
        named_text = " ".join(risk.text for risk in named)
        if alike := [
            (line, shown) for line, word in lookalikes(text) if (shown := spelled(word)) not in named_text
        ]:
            listed = ", ".join(dict.fromkeys(f"{word} in line {line}" for line, word in alike[:4]))
            more = f" and {len(alike) - 4} more" if len(alike) > 4 else ""
            what_passes = f"words that pass for others in the {what}: {listed}{more}"
            byte_risks.append(Risk("lookalikes", what_passes, line=alike[0][0] if what == "code" else 0))
    if attempt.build_digest == build.digest:
        return byte_risks
    if taken := [(what, at) for what, text in texts for at in _taken_out(text)]:
        listed = ", ".join(f"line {at}{'' if what == 'code' else ' of the tests'}" for what, at in taken[:4])
        hidden_bytes = "it is never shown, so these are not the bytes that would run"
        secret_text = f"holds what looks like a secret: {listed}; {hidden_bytes}"
        byte_risks.append(
            Risk("secret-in-code", secret_text, line=taken[0][1] if taken[0][0] == "code" else 0)
        )
    else:
        byte_risks.append(Risk("other-bytes", "these bytes are not the ones that approval is asked for"))
    return byte_risks


def _taken_out(text: str) -> list[int]:
    """Return the lines where a secret was redacted."""
    return [number for number, line in enumerate(text.split("\n"), 1) if MARK.search(line)]


def _names(what: str, code: str) -> list[Risk]:
    """Return names with letters outside ASCII, which can pass for others (UTS #39)."""
    try:
        tree = parse(code)
    except UNPARSABLE:
        return [Risk("not-python", f"the {what} {'is' if what == 'code' else 'are'} no valid Python")]
    if code.isascii():
        return []
    strange = {
        text
        for node in ast.walk(tree)
        for field in ("id", "attr", "arg", "name", "asname", "module")
        if isinstance(text := getattr(node, field, None), str) and not text.isascii()
    }
    if not strange:
        return []
    where = "" if what == "code" else " in the tests"
    listed = ", ".join(spelled(name) for name in sorted(strange))
    return [Risk("foreign-names", f"names with letters outside ASCII{where}: {listed}")]


def _tests(attempt: Attempt) -> list[Risk]:
    if attempt.passed is None:
        return [Risk("tests-not-run", "the self-tests have not run")]
    if not attempt.passed:
        problem = f"the self-tests did not pass{': ' if attempt.problem else ''}{attempt.problem}"
        return [Risk("tests-fail", problem)]
    cases = attempt.reports[-1].cases if attempt.reports else ()
    test_risks = [] if cases else [Risk("no-tests", "there is no self-test case")]
    if attempt.granted_problem:
        problem = f"with what it asks for, the self-tests did not pass: {attempt.granted_problem}"
        test_risks.append(Risk("tests-fail", problem))
    return test_risks


def _review(attempt: Attempt) -> list[Risk]:
    if attempt.reviewed is None:
        return [Risk("not-reviewed", "the static review has not run")]
    review_risks = [
        _finding(finding)
        for finding in attempt.findings
        if finding.blocking or finding.severity in ("high", "medium")
    ]  # fmt: skip
    if not attempt.reviewed and not review_risks:
        review_risks.append(Risk("review-failed", "the static review did not pass"))
    return review_risks


def _finding(finding: Finding) -> Risk:
    name = _OF_RULE.get(finding.rule) or _OF_BANDIT.get(finding.rule)
    if _BANDIT_ID.fullmatch(finding.rule):
        name = name or "code-scan"
    name = name or re.sub(r"[^a-z0-9]+", "-", finding.rule.lower()).strip("-")
    weight = finding.severity if finding.rule == name else f"{finding.severity}, {finding.rule}"
    return Risk(
        name or "finding",
        f"{f'line {finding.line}: ' if finding.line else ''}{finding.text} ({weight})",
        serious=finding.blocking or finding.severity == "high",
        line=finding.line,
    )


def _requirements(attempt: Attempt) -> list[Risk]:
    package_risks = []
    if attempt.lock_problem:
        package_risks.append(Risk("not-pinned", f"requirements refused: {attempt.lock_problem}"))
    elif attempt.draft.requirements and attempt.lock is None:
        package_risks.append(Risk("not-pinned", "the requirements are not pinned to exact wheels"))
    for package in attempt.lock.packages if attempt.lock else ():
        if not package.hashes:
            package_risks.append(Risk("not-pinned", f"{package.name} {package.version} has no hash"))
    return package_risks


def declared_by(name: str, attempt: Attempt) -> str:
    """Return what declares an imported module: `standard library`, `itself`, a requirement's name, or nothing.

    The metadata of the installed wheels decides; before they are installed, and on older records, their names do.
    """
    if attempt.draft.language != "python":
        return "the language"  # its review sends back what nothing provides
    if name == attempt.draft.name:
        return "itself"
    if name in sys.stdlib_module_names:
        return "standard library"
    required = [
        package for requirement in attempt.draft.requirements if (package := distribution(requirement))
    ]
    provided = next((report.provided for report in attempt.reports if report.provided), ())
    if provided:
        return next(
            (
                package.distribution
                for package in provided
                if package.distribution in required and name in package.modules
            ),
            "",
        )
    alike = (package for package in required if name.lower() in _suggested(package))
    return next(alike, "")


def _suggested(package: str) -> tuple[str, str]:
    """Return the module names that a distribution's own name suggests."""
    plain = package.replace("-", "_")
    return plain, plain.removeprefix("python_")


def undeclared(attempt: Attempt) -> tuple[str, ...]:
    """Return imported modules that are neither in Python nor in a declared requirement."""
    return tuple(name for name in attempt.imports if not declared_by(name, attempt))
