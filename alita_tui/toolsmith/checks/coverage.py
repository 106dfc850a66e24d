"""Which lines of a draft no test ran: rare payloads, date bombs and forgotten cases hide there."""

from __future__ import annotations

import asyncio
import re

from alita_tui.events import GateName, GateResult, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.runtimes.places import ranges, spans
from alita_tui.spine.requirements import NPM
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, evidence, failed, passed
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.workbench import Workbench

_SHOWN = 12
_WAYS_SHOWN = 4
_REVEALING = {
    "bash": ("ast/dynamic", "ast/files"),
    "javascript": ("ast/dynamic", "ast/files", "ast/process"),
    "typescript": ("ast/dynamic", "ast/files", "ast/process"),
}
"""Rules by language whose findings mean that code could inspect itself through what it reaches."""


class CoverageCheck:
    """Lines and parts of lines that neither its own nor hidden tests ran.

    Coverage is measured in the tool's own process: evidence of honest mistakes, worthless if the code inspects its own
    interpreter.
    """

    name: GateName = "coverage"

    def __init__(self, bench: Workbench, hidden: HiddenTestsCheck) -> None:
        """`hidden` provides the hidden tests, whose runs count as well."""
        self._bench = bench
        self._hidden = hidden

    async def check(self, case: Case) -> GateResult:
        """Report lines and parts of lines that no test ran. Raises CouldNotRun."""
        if await asyncio.to_thread(_introspects, case.draft):
            raise CouldNotRun("not measurable: the code looks into what runs it")
        watched = await self._bench.watched(case)
        if watched.problem:
            raise CouldNotRun(watched.problem)
        by, passed_by_hidden = "own tests", []
        try:
            passed_by_hidden = (await self._hidden.ran(case)).called.passed
        except CouldNotRun:
            by = "own tests, and there are no hidden ones"
        else:
            by = "own and hidden tests"
        missed = watched.missed(passed_by_hidden)
        rows = [evidence(_lines(span), f"never run by {by}", "bad") for span in spans(missed.lines)[:_SHOWN]]
        rows += [evidence(f"line {line}", text, "bad") for line, text in missed.parts[:_SHOWN]]
        ways = [evidence(f"line {line}", text, "muted") for line, text in missed.ways[:_WAYS_SHOWN]]
        count = len({line for place in watched.places for line in range(place.line, place.end + 1)})
        packages = ", ".join(sorted({_package(requirement) for requirement in case.draft.requirements}))
        if packages:
            about = "only the tool's own lines are counted, and what a package does to them is taken on trust"
            ways = [evidence(f"rests on {one_line(packages, 120)}", about, "muted"), *ways]
        if not missed.lines and not missed.parts:
            besides = (
                f"; it rests on {one_line(packages, 80)}, whose own lines are not counted" if packages else ""
            )
            return passed(self.name, f"{by} run all {count} lines{besides}", ways)
        summary = []
        if lines := missed.lines:
            summary.append(
                f"{len(lines)} {'line' if len(lines) == 1 else 'lines'} never run: {ranges(lines)}"
            )
        if parts := sorted({line for line, _ in missed.parts}):
            summary.append(f"part of {_lines_in_words(parts)} never run")
        return failed(self.name, "; ".join(summary), [*rows, *ways])


def _package(requirement: str) -> str:
    """Return the package name in a requirement of PyPI or npm."""
    return re.split(r"(?<=.)[@<>=!~;\[ (]", requirement.removeprefix(NPM), maxsplit=1)[0].strip()


def _lines(span: tuple[int, int]) -> str:
    return f"line {span[0]}" if span[0] == span[1] else f"lines {span[0]}-{span[1]}"


def _lines_in_words(lines: list[int]) -> str:
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {ranges(lines)}"


def _introspects(draft: ToolDraft) -> bool:
    """Return True for code that looks at frames, descriptors or the interpreter: it could fake its coverage.

    In a shell or on node, running text as code is enough, or reading files such as its own memory; on node also
    starting a program or a thread, which could read that memory in its place.
    """
    findings = runtime_of(draft.language).uses(draft).found
    if any(
        finding.rule in _REVEALING.get(draft.language, ()) and finding.severity == "high"
        for finding in findings
    ):
        return True
    return any(finding.rule == "ast/introspection" for finding in findings)
