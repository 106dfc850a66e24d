"""Before a version replaces another, the recorded calls of the old one are repeated with the new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from alita_tui.events import GateName, GateResult
from alita_tui.spine.ports.builds import PastCall
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, evidence, failed, passed, shown
from alita_tui.toolsmith.checks.probes import equal
from alita_tui.toolsmith.checks.workbench import Workbench


class ReplayCheck:
    """Recorded calls of the parent version, run again."""

    name: GateName = "replay"

    def __init__(self, bench: Workbench, calls: Callable[[str], tuple[PastCall, ...]]) -> None:
        """`calls` returns recorded calls of a tool, newest first; it may block."""
        self._bench = bench
        self._calls = calls

    async def check(self, case: Case) -> GateResult:
        """Report recorded calls whose result changed. Raises CouldNotRun."""
        if case.parent is None:
            return passed(self.name, "it replaces nothing")
        calls = await asyncio.to_thread(self._calls, case.draft.name)
        if not calls:
            return passed(self.name, "the version before was never called")
        answers = await self._bench.outputs(case, [example.arguments for example in calls], fresh=True)
        rows, changed = [], 0
        for call, answer in zip(calls, answers, strict=False):
            label = f"run({shown(call.arguments, 80)})"
            if "result" in answer and equal(call.result, answer["result"]):
                rows.append(evidence(label, f"→ {shown(call.result)}, as before", "good"))
                continue
            changed += 1
            now = (
                shown(answer["result"])
                if "result" in answer
                else f"{answer.get('error')}: {answer.get('text', '')}"
            )
            rows.append(evidence(label, f"→ {now}, before {shown(call.result)}", "warn"))
        if changed:
            summary = f"{changed} of {len(rows)} recorded calls come out otherwise"
            return failed(self.name, summary, rows)
        if len(rows) < len(calls):
            raise CouldNotRun(f"there was time for {len(rows)} of {len(calls)} recorded calls", rows)
        return passed(self.name, f"all {len(rows)} recorded calls come out as before", rows)
