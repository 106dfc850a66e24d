"""The risks of a build, from what was observed, each with a name by which it is accepted. Pure."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable

import msgspec

from alita_tui.events import Capabilities, Finding, GateResult
from alita_tui.events.build import CHECKS
from alita_tui.spine.grants import ON_HOST, phrases, tool_grants
from alita_tui.spine.redaction import MARK
from alita_tui.spine.requirements import distribution
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import counted, hidden_characters
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import newly_allowed
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
    " foreign-names gains tests-fail hidden-tests other-results examples-fail tests-not-run no-tests introspects"
    " code-not-on-page format-walk detects-tests processes private-path network-undeclared reads-files reach"
    " literal-leak conditions schema-inputs schema slow slow-pattern cuts-off keeps-state other-main never-run"
    " weak-tests packages runs-later runs-when-loaded environment changes-files clock chance time-zone"
    " locale undeclared-import not-reviewed review-failed not-pinned twin not-checked faults-unknown"
).split()
"""Order of the serious risks by harm, and then of the others; among each, requested capabilities come last."""
_REQUESTS = ("network", "secrets", "workspace", "model", "browser", "tools")
FAULTS_UNKNOWN = "faults-unknown"
"""The risk that no fault database answered. It is not about the draft, so a session asks about it once."""
_RISK_OF_ITEM = {"network": "network", "workspace": "workspace", "model": "model", "browser": "browser"}


class Risk(msgspec.Struct, frozen=True):
    """A risk to know before deciding."""

    name: str
    """Short and stable; the person types it to accept the risk. Similar risks share a name."""
    text: str
    serious: bool = True
    """True if it is shown as serious. Each risk has to be accepted by name, serious or not."""
    line: int = 0
    """Line of the code; 0 for none."""
    accepted: bool = False
    """True if the person accepted it earlier in this session: it is shown, but need not be accepted again."""


def risks(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> tuple[Risk, ...]:
    """Return all risks of a build, most serious first.

    Capabilities that are withheld, written as in `Capabilities.items`, are no risk.
    """
    all_risks = [
        *_byte_risks(build, attempt),
        *_test_risks(attempt),
        *_review_risks(attempt),
        *_gain_risks(build, attempt, withheld),
        *_request_risks(attempt.draft.capabilities.without(withheld)),
        *(
            Risk("undeclared-import", f"imports {name}, which no requirement declares")
            for name in undeclared(attempt)
        ),
        *_package_risks(attempt),
        *_gate_risks(attempt),
    ]
    return tuple(sorted(dict.fromkeys(all_risks), key=_rank))


def draft_risks(requested: Capabilities, findings: Iterable[Finding]) -> tuple[Risk, ...]:
    """Return the risks of a draft without a session: its requests and the findings of its static review."""
    heavy = (
        _finding(finding)
        for finding in findings
        if finding.blocking or finding.severity in ("high", "medium")
    )
    return tuple(sorted(dict.fromkeys((*heavy, *_request_risks(requested))), key=_rank))


def current_names(accepted: Collection[str]) -> list[str]:
    """Return the current names of risks that a person accepted, perhaps by their former names."""
    ids = (name.upper() for name in accepted if _BANDIT_ID.fullmatch(name.upper()))
    current = {test_id: _OF_BANDIT.get(test_id, "code-scan") for test_id in ids}
    return [current.get(name.upper(), name) for name in accepted]


def names_to_accept(risks: Iterable[Risk]) -> tuple[str, ...]:
    """Return the distinct names of the risks that are not accepted yet, in order."""
    return tuple(dict.fromkeys(risk.name for risk in risks if not risk.accepted))


def _rank(risk: Risk) -> tuple[bool, int]:
    """Return the sort key of a risk: whether it is serious, then its place in `_ORDER`; requests come last."""
    if risk.name in _REQUESTS:
        return not risk.serious, len(_ORDER)
    order_name = risk.name if risk.name in _ORDER else "network-undeclared" if risk.serious else "not-pinned"
    return not risk.serious, _ORDER.index(order_name)


def _request_risks(requested: Capabilities) -> list[Risk]:
    """Return a risk for each requested capability, and for the capabilities of each tool that it may call."""
    direct = msgspec.structs.replace(requested, tools=())
    request_risks = [
        Risk(_RISK_OF_ITEM.get(item.partition(":")[0], "secrets"), f"asks for {phrase}")
        for item, phrase in zip(direct.items, phrases(direct), strict=True)
    ]
    indirect = (
        grant for grant in tool_grants(requested) if grant.may
    )  # one that only computes gives it nothing more
    for grant in indirect:
        name = "on-host" if ON_HOST in grant.may else "tools"
        request_risks.append(Risk(name, f"may use {grant.uses} by calling {grant.label}"))
    return request_risks


def _gain_risks(build: BuildState, attempt: Attempt, withheld: Collection[str]) -> list[Risk]:
    """Return a risk if the new version may do more than the previous one."""
    if build.parent is None or not (abilities := newly_allowed(build, attempt, withheld)):
        return []
    return [
        Risk("gains", f"may do what v{build.version - 1} could not: {'; '.join(abilities)}", serious=False)
    ]


def _gate_risks(attempt: Attempt) -> list[Risk]:
    """Return a risk for each check that failed or could not run, and one for the checks without a record."""
    gate_risks = []
    for gate in attempt.gates:
        if gate.state == "failed":
            text = _example(gate) or f"{CHECKS[gate.gate].title} failed: {gate.summary}"
            line = re.search(r": (\d+)", gate.summary) if str(gate.gate) == "coverage" else None
            gate_risks.append(Risk(CHECKS[gate.gate].risk, text, line=int(line[1]) if line else 0))
        elif gate.state == "skipped" and gate.no_fault_database:
            gate_risks.append(
                Risk(FAULTS_UNKNOWN, gate.summary, serious=False, accepted=bool(gate.accepted_with))
            )
        elif gate.state == "skipped":
            gate_risks.append(Risk("not-checked", f"{CHECKS[gate.gate].title} could not run: {gate.summary}"))
    if attempt.unchecked:
        titles = ", ".join(CHECKS[gate_name].title for gate_name in attempt.unchecked)
        gate_risks.append(Risk("not-checked", f"not run, or not on record: {titles}"))
    return gate_risks


def _example(gate: GateResult) -> str:
    """Return the count and the first case that failed, for checks whose summary only counts them; else nothing."""
    row = next((row for row in gate.rows if row.tone == "bad"), None) if gate.gate == "hidden" else None
    wrong = f"{gate.tried - gate.good} of {gate.tried} failed"
    return f"{wrong}: {row.label} {row.text}" if row and gate.tried else ""


def _byte_risks(build: BuildState, attempt: Attempt) -> list[Risk]:
    byte_risks = []
    python = attempt.draft.language == "python"
    texts = (("code", attempt.draft.code), ("tests", attempt.draft.tests))
    if hidden := sum(hidden_characters(text) for _, text in texts):
        byte_risks.append(
            Risk(
                "hidden-characters", f"{counted(hidden, 'hidden character')} in code or tests, shown as ⟨U+…⟩"
            )
        )
    for part, text in texts:
        byte_risks += (name_risks := _name_risks(part, text) if python or part == "tests" else [])
        named_text = " ".join(risk.text for risk in name_risks)
        if alike := [
            (line, spelling)
            for line, word in lookalikes(text)
            if (spelling := spelled(word)) not in named_text
        ]:
            places = ", ".join(dict.fromkeys(f"{word} in line {line}" for line, word in alike[:4]))
            suffix = f" and {len(alike) - 4} more" if len(alike) > 4 else ""
            what_passes = f"words that pass for others in the {part}: {places}{suffix}"
            byte_risks.append(Risk("lookalikes", what_passes, line=alike[0][0] if part == "code" else 0))
    if attempt.build_digest == build.digest:
        return byte_risks
    if redacted := [(part, number) for part, text in texts for number in _redacted_lines(text)]:
        places = ", ".join(
            f"line {number}{'' if part == 'code' else ' of the tests'}" for part, number in redacted[:4]
        )
        hidden_bytes = "it is never shown, so these are not the bytes that would run"
        secret_text = f"holds what looks like a secret: {places}; {hidden_bytes}"
        byte_risks.append(
            Risk("secret-in-code", secret_text, line=redacted[0][1] if redacted[0][0] == "code" else 0)
        )
    else:
        byte_risks.append(Risk("other-bytes", "these bytes are not the ones that approval is asked for"))
    return byte_risks


def _redacted_lines(text: str) -> list[int]:
    """Return the numbers of the lines in which a secret was redacted."""
    return [number for number, line in enumerate(text.split("\n"), 1) if MARK.search(line)]


def _name_risks(part: str, code: str) -> list[Risk]:
    """Return a risk for names with letters outside ASCII, which can be mistaken for others (UTS #39)."""
    try:
        tree = parse(code)
    except UNPARSABLE:
        return [Risk("not-python", f"the {part} {'is' if part == 'code' else 'are'} no valid Python")]
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
    suffix = "" if part == "code" else " in the tests"
    spellings = ", ".join(spelled(name) for name in sorted(strange))
    return [Risk("foreign-names", f"names with letters outside ASCII{suffix}: {spellings}")]


def _test_risks(attempt: Attempt) -> list[Risk]:
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


def _review_risks(attempt: Attempt) -> list[Risk]:
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


def _package_risks(attempt: Attempt) -> list[Risk]:
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
    """Return what provides an imported module: `standard library`, `itself`, a requirement's name, or an empty text.

    The metadata of the installed wheels decides; without it (not installed yet, or an older record) their names do.
    """
    if attempt.draft.language != "python":
        return "the language"  # the review of that language refuses undeclared imports
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
    """Return the module names that a distribution's name suggests."""
    module = package.replace("-", "_")
    return module, module.removeprefix("python_")


def undeclared(attempt: Attempt) -> tuple[str, ...]:
    """Return the imported modules that neither Python nor a declared requirement provides."""
    return tuple(name for name in attempt.imports if not declared_by(name, attempt))
