"""Before a version replaces another, its recorded calls and its tests are repeated with the new one."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from alita_tui.events import GateName, GateResult, GateRow, ToolDraft
from alita_tui.spine.ports.builds import FailedCall, PastCall
from alita_tui.spine.syntax import try_parse
from alita_tui.spine.text import counted, one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, Tone, brief_json, evidence, failed, passed
from alita_tui.toolsmith.checks.judge_report import Tested
from alita_tui.toolsmith.checks.probes import equal, misfit
from alita_tui.toolsmith.checks.workbench import Workbench, piece_of_tests

STILL = "still fails: "
"""Prefix of the label of a call that failed with the previous version and still fails."""
LEFT_OUT = "left out: "
"""Prefix of the label of a failing test of the previous version that the new tests leave out."""
_SECONDS = 8.0
_MOST_FAILURES = 6


class ReplayCheck:
    """Recorded calls and tests of the parent version, run again."""

    name: GateName = "replay"

    def __init__(
        self,
        bench: Workbench,
        calls: Callable[[str], tuple[PastCall, ...]],
        failures: Callable[[str], tuple[FailedCall, ...]] = lambda _: (),
        callers: Callable[[Case], Awaitable[list[GateRow]]] | None = None,
    ) -> None:
        """`calls` returns recorded calls of a tool that succeeded, `failures` those that failed; both may block.

        `callers` returns a row for each tool that calls the one under check.
        """
        self._bench = bench
        self._calls = calls
        self._failures = failures
        self._callers = callers

    async def check(self, case: Case) -> GateResult:
        """Report recorded calls whose result changed, and earlier tests that fail. Raises CouldNotRun."""
        if case.parent is None:
            return passed(self.name, "it replaces no tool, so there are no old calls to repeat")
        old = await self._old_tests(case, case.parent)
        rows, summary, complete = await self._repeat_calls(case)
        figures = sum(row.tone == "good" for row in rows), len(rows)
        if old:
            listed = ", ".join(row.label for row in old)
            summary = f"{counted(len(old), 'test')} of the version before failing: {listed}; {summary}"
        mended = await self._mended(case)
        if mended:
            still = sum(row.tone != "good" for row in mended)
            outcome = f"{still} of {len(mended)} still fail" if still else f"all {len(mended)} succeed now"
            summary += f"; of the calls that failed before {outcome}"
            rows += mended
        if called := await self._callers(case) if self._callers else []:
            broken = sum(row.tone != "good" for row in called)
            outcome = f"{broken} of {len(called)} need a look" if broken else "all of them do as before"
            summary += f"; of the tools that call it {outcome}"
            rows += called
        if old or any(row.tone in ("warn", "bad") for row in rows):
            return failed(self.name, summary, [*old, *rows], figures)
        if not complete:
            raise CouldNotRun(summary, rows)
        return passed(self.name, summary, rows, figures)

    async def _mended(self, case: Case) -> list[GateRow]:
        """Return a row for each call that failed with the previous version, with its outcome now."""
        failures = (await asyncio.to_thread(self._failures, case.draft.name))[:_MOST_FAILURES]
        if not failures:
            return []
        answers = await self._bench.outputs(case, [failure.arguments for failure in failures], fresh=True)
        rows = []
        for failure, answer in zip(failures, answers, strict=False):
            label = f"run({brief_json(failure.arguments, 80)})"
            before = one_line((failure.error.strip().splitlines() or [""])[-1], 120)
            if "result" in answer and not (why := misfit(answer["result"], case.draft.output_schema)):
                rows.append(evidence(label, f"→ {brief_json(answer['result'])}, before {before}", "good"))
                continue
            now = why if "result" in answer else f"{answer.get('error')}: {answer.get('text', '')}"
            rows.append(evidence(f"{STILL}{label}", one_line(f"→ {now}, before {before}", 280), "bad"))
        return rows

    async def _repeat_calls(self, case: Case) -> tuple[list[GateRow], str, bool]:
        """Return a row for each recorded call, a summary, and whether there was time for all of them."""
        calls = await asyncio.to_thread(self._calls, case.draft.name)
        if not calls:
            return [], "no recorded call of the version before gave a result", True
        answers = await self._bench.outputs(case, [example.arguments for example in calls], fresh=True)
        rows, changed = [], 0
        for call, answer in zip(calls, answers, strict=False):
            label = f"run({brief_json(call.arguments, 80)})"
            if "result" in answer and equal(call.result, answer["result"]):
                rows.append(evidence(label, f"→ {brief_json(call.result)}, as before", "good"))
                continue
            changed += 1
            now = (
                brief_json(answer["result"])
                if "result" in answer
                else f"{answer.get('error')}: {answer.get('text', '')}"
            )
            rows.append(evidence(label, f"→ {now}, before {brief_json(call.result)}", "warn"))
        if changed:
            return rows, f"{changed} of {len(rows)} recorded calls come out otherwise", True
        if len(rows) < len(calls):
            return rows, f"there was time for {len(rows)} of {len(calls)} recorded calls", False
        return rows, f"all {len(rows)} recorded calls come out as before", True

    async def _old_tests(self, case: Case, parent: ToolDraft) -> list[GateRow]:
        """Return a row for each test of the previous version that fails with this one.

        A test that has the same name in this version's tests, but another body, was changed: the person is informed.
        A test that is missing from them was dropped: worth a repair.
        """
        now, before = _tests(case.draft), _tests(parent)
        if now.items() >= before.items():
            return []  # its own tests have all of them
        piece = msgspec.structs.replace(piece_of_tests(case, seconds=_SECONDS), tests=parent.tests)
        (entry,) = await self._bench.judge(case, [piece])
        if not isinstance(entry, Tested) or entry.late:
            raise CouldNotRun("there was no time for the tests of the version before")
        if entry.error:
            last = entry.error.strip().splitlines()[-1]
            return [evidence(f"{LEFT_OUT}all", one_line(f"they cannot be imported: {last}", 200), "bad")]
        rows = []
        for test in entry.cases:
            if not test.passed and now.get(test.name) != before.get(test.name, ""):
                still_there = test.name in now
                change = "expect otherwise under the same name" if still_there else "leave it out"
                last = next(iter(test.message.strip().splitlines()[-1:]), "")
                tone: Tone = "warn" if still_there else "bad"
                rows.append(
                    evidence(
                        test.name if still_there else LEFT_OUT + test.name,
                        one_line(f"it fails, and the new tests {change}: {last}", 280),
                        tone,
                    )
                )
        return rows


def _tests(draft: ToolDraft) -> dict[str, str]:
    """Return the tests of a draft by name, as they read without comments."""
    tree = try_parse(draft.tests)
    functions = (node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef))
    return {node.name: ast.unparse(node) for node in functions if node.name.startswith("test_")}
