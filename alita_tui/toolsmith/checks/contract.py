"""Do the schemas accept what the tests do? Each call of the tests that returned is validated against both."""

from __future__ import annotations

import asyncio

from alita_tui.events import GateName, GateResult, GateRow, ToolDraft
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, evidence, failed, passed, shown
from alita_tui.toolsmith.checks.judge_report import Call
from alita_tui.toolsmith.checks.probes import misfit, parameters
from alita_tui.toolsmith.checks.workbench import Workbench

_SHOWN = 8


class ContractCheck:
    """Arguments and results of the tests against the JSON schemas."""

    name: GateName = "contract"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """Validate the calls that the tests make. Raises CouldNotRun if none returned."""
        calls = (await self._bench.watched(case)).tested.calls
        examples = [call for call in calls if not call.error or call.unfit]
        if not examples:
            raise CouldNotRun("the tests show no call of run that returns")
        rows = await asyncio.to_thread(_rows, examples, case.draft)
        count = len(examples)
        if rows:
            summary = f"{len(rows)} of the tests' {count} calls do not fit the schemas"
            return failed(self.name, summary, rows[:_SHOWN])
        return passed(self.name, f"the schemas accept arguments and results of the tests' {count} calls")


def _rows(examples: list[Call], draft: ToolDraft) -> list[GateRow]:
    names = parameters(draft.code)
    rows = []
    for call in examples:
        arguments = {**dict(zip(names, call.given, strict=False)), **call.named}
        wrong = {
            "arguments": misfit(arguments, draft.input_schema),
            "result": call.unfit or misfit(call.result, draft.output_schema),
        }
        text = "; ".join(f"{part}: {reason}" for part, reason in wrong.items() if reason)
        if text:
            label = f"run({shown(arguments, 80)})"
            rows.append(evidence(label, one_line(text, 300), "bad"))
    return rows
