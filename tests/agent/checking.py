"""A check whose outcome a test chooses."""

from __future__ import annotations

from alita_tui.events import GateName, GateResult, GateRow
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, failed, passed

BAD = (GateRow(label="run(4)", text="→ 9, where 8 was agreed on", tone="bad"),) * 3
UNTESTABLE = (GateRow(label="contract", text="too few tests can be written", tone="bad"),)


class Says:
    """A gate that fails the drafts that carry a mark, or cannot look at all.

    `untestable`: it cannot judge drafts that carry the mark, as nothing can be tested of their contract.
    """

    def __init__(
        self, name: GateName, mark: str = "", *, blind: bool = False, untestable: bool = False
    ) -> None:
        self.name: GateName = name
        self.mark = mark
        self.blind = blind
        self.untestable = untestable
        self.cases: list[Case] = []

    async def check(self, case: Case) -> GateResult:
        self.cases.append(case)
        if self.blind:
            raise CouldNotRun("no model answered")
        if self.mark and self.mark in case.draft.code:
            if self.untestable:
                raise CouldNotRun("no usable cases", UNTESTABLE)
            return failed(self.name, "1 of 3 cases", BAD)
        return passed(self.name, "all of them")
