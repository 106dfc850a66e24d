"""Do the schemas accept what the tests do? Each call of the tests that returned is held against both."""

from __future__ import annotations

import asyncio
from typing import Any

from alita_tui.spine.text import one_line
from alita_tui.spine.values import GateName, GateResult, GateRow, ToolDraft
from alita_tui.toolsmith.gates.case import Case, CouldNotRun, Workbench, failed, passed, shown
from alita_tui.toolsmith.gates.probes import misfit

_SHOWN = 8


class Examples:
    """The contract: arguments and results of the tests against the JSON schemas."""

    name: GateName = "contract"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """See `Gate.check`."""
        (answer,) = await self._bench.work("examples", case)
        examples = answer.get("examples")
        if not isinstance(examples, list):
            raise CouldNotRun("the tests did not come to an end while their calls were noted")
        if not examples:
            raise CouldNotRun("the tests show no call of run that returns")
        rows = await asyncio.to_thread(_rows, examples, case.draft)
        count = len(examples)
        if rows:
            said = f"{len(rows)} of the tests' {count} calls do not fit the schemas"
            return failed(self.name, said, rows[:_SHOWN])
        return passed(self.name, f"the schemas accept arguments and results of the tests' {count} calls")


def _rows(examples: list[dict[str, Any]], draft: ToolDraft) -> list[GateRow]:
    rows = []
    for one in examples:
        wrong = {
            "arguments": misfit(one["arguments"], draft.input_schema),
            "result": one["problem"] or misfit(one["result"], draft.output_schema),
        }
        text = "; ".join(f"{part}: {reason}" for part, reason in wrong.items() if reason)
        if text:
            label = f"run({shown(one['arguments'], 80)})"
            rows.append(GateRow(label=label, text=one_line(text, 300), tone="bad"))
    return rows
