"""A summary, for the record, of what the person could see of a build when deciding. Pure."""

from __future__ import annotations

from alita_tui.events import RunReport
from alita_tui.events.build import CHECKS
from alita_tui.spine.text import counted, one_line
from alita_tui.state.build import Attempt, BuildState


def evidence(build: BuildState) -> tuple[str, ...]:
    """Return the evidence about the presented draft, one line for each finding."""
    attempt = build.presented
    if attempt is None:
        return ()
    return tuple(str(one_line(line, 300)) for line in _lines(build, attempt))


def _lines(build: BuildState, attempt: Attempt) -> list[str]:
    lines = [f"goal: {build.goal}", f"draft {attempt.number} by {attempt.author} {attempt.model}".strip()]
    lines.append(f"asks for: {', '.join(attempt.draft.capabilities.items) or 'nothing'}")
    packages = attempt.lock.packages if attempt.lock else ()
    lines.append(f"packages: {', '.join(f'{p.name} {p.version}' for p in packages) or 'none'}")
    if attempt.reviewed is None:
        lines.append("static review: not done")
    else:
        weighty = [
            finding.rule
            for finding in attempt.findings
            if finding.blocking or finding.severity in ("medium", "high")
        ]
        count = len(attempt.findings)
        summary = counted(count, "finding") + (f", {', '.join(weighty)}" if weighty else "")
        lines.append(f"static review: {'passed' if attempt.reviewed else 'did not pass'}, {summary}")
    lines.append(f"self-tests: {_tests_line(attempt.reports, attempt.passed, attempt.problem)}")
    if attempt.granted_reports:
        grants = ", ".join(attempt.granted.items)
        passed = not attempt.granted_problem
        tested = _tests_line(attempt.granted_reports, passed, attempt.granted_problem)
        lines.append(f"self-tests with {grants}: {tested}")
    lines += [f"{CHECKS[gate.gate].title.lower()}: {gate.state}, {gate.summary}" for gate in attempt.gates]
    lines += [f"{CHECKS[name].title.lower()}: not run" for name in attempt.unchecked]
    if build.verdict and build.verdict.accepted:
        lines.append(f"risks accepted by name: {', '.join(build.verdict.accepted)}")
    return lines


def _tests_line(reports: tuple[RunReport, ...], passed: bool | None, problem: str) -> str:
    if passed is None:
        return "not run"
    cases = reports[-1].cases if reports else ()
    passed_cases = sum(case.passed for case in cases)
    return f"{passed_cases} of {len(cases)} passed in {len(reports)} runs" + (
        f"; {problem}" if problem else ""
    )
