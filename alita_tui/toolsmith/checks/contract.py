"""Do the schemas accept what the tests do? Each call of the tests that returned is validated against both."""

from __future__ import annotations

import asyncio

from alita_tui.events import GateName, GateResult, GateRow, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.text import counted, one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, brief_json, evidence, failed, passed
from alita_tui.toolsmith.checks.judge_report import Call
from alita_tui.toolsmith.checks.probes import misfit, same
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
        ordered = await self._ordered(case)
        missed = [row for row in ordered if row.tone == "bad"]
        if missed:
            summary = f"{len(missed)} of the {len(case.examples)} examples that it was ordered by come out otherwise"
            return failed(self.name, summary, [*missed, *rows][:_SHOWN])
        if rows:
            summary = f"{len(rows)} of the tests' {count} calls do not fit the schemas"
            return failed(self.name, summary, rows[:_SHOWN])
        summary = f"the schemas accept arguments and results of the tests' {count} calls"
        if ordered:
            summary += f"; {counted(len(ordered), 'example')} of the order hold{'' if ordered[1:] else 's'}"
        return passed(self.name, summary, ordered)

    async def _ordered(self, case: Case) -> list[GateRow]:
        """Return a row for each example of the order, except failures that may only lack what no test is granted."""
        pairs = [
            (entry["input"], entry["output"])
            for entry in case.examples
            if isinstance(entry, dict) and isinstance(entry.get("input"), dict) and "output" in entry
        ]
        if not pairs:
            return []
        answers = await self._bench.outputs(case, [arguments for arguments, _ in pairs], fresh=True)
        rows: list[GateRow] = []
        for (arguments, expected), answer in zip(pairs, answers, strict=False):
            label = f"run({brief_json(arguments, 80)})"
            if "result" in answer and same(expected, answer["result"]):
                rows.append(evidence(label, f"→ {brief_json(answer['result'])}, as ordered", "good"))
            elif "result" in answer or case.draft.capabilities.none:
                actual = (
                    brief_json(answer["result"])
                    if "result" in answer
                    else f"{answer.get('error')}: {answer.get('text')}"
                )
                rows.append(
                    evidence(
                        label, one_line(f"→ {actual}, where {brief_json(expected)} was ordered", 300), "bad"
                    )
                )
        return rows


def _rows(examples: list[Call], draft: ToolDraft) -> list[GateRow]:
    names = runtime_of(draft.language).parameters(draft)
    rows = []
    for call in examples:
        arguments = {**dict(zip(names, call.given, strict=False)), **call.named}
        wrong = {
            "arguments": misfit(arguments, draft.input_schema),
            "result": call.unfit or misfit(call.result, draft.output_schema),
        }
        text = "; ".join(f"{part}: {reason}" for part, reason in wrong.items() if reason)
        if text:
            label = f"run({brief_json(arguments, 80)})"
            rows.append(evidence(label, one_line(text, 300), "bad"))
    return rows
