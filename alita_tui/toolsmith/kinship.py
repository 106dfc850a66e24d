"""Measures how alike two tools of the library are: both get the same arguments, and their answers are compared."""

from __future__ import annotations

import asyncio

from alita_tui.events import BuildId, ToolDraft, ToolRecord
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, both_results
from alita_tui.toolsmith.checks.fingerprints import answered_by_both, required, shape, shared_probes
from alita_tui.toolsmith.checks.probes import equal
from alita_tui.toolsmith.checks.workbench import Workbench

FEWEST = 4
"""Fewest probes that both tools answer, and fewest different answers, for a comparison to count."""


def comparable(left: ToolDraft, right: ToolDraft) -> bool:
    """Return True if both take required arguments of the same types in the same order, and are granted nothing."""
    return (
        bool(required(left))
        and shape(left) == shape(right)
        and left.capabilities.none
        and right.capabilities.none
    )


async def kinship(bench: Workbench, left: ToolRecord, right: ToolRecord) -> tuple[int, int]:
    """Return how many probes two tools answer alike, and how many both answer. Raises CouldNotRun.

    Both are 0 if the comparison is no evidence, because too few are answered or all answers are the same.
    """
    pairs = await asyncio.to_thread(shared_probes, left.draft, right.draft)
    left_case, right_case = (
        Case(build_id=BuildId("kinship"), draft=tool.draft, lock=tool.lock) for tool in (left, right)
    )
    left_answers, right_answers = await both_results(
        bench.outputs(left_case, [arguments for arguments, _ in pairs], fresh=True, seconds=1.5),
        bench.outputs(right_case, [arguments for _, arguments in pairs], fresh=True, seconds=1.5),
    )
    if isinstance(left_answers, CouldNotRun):
        raise left_answers
    if isinstance(right_answers, CouldNotRun):
        raise right_answers
    both_answered = answered_by_both(left_answers, right_answers)
    if (
        len(both_answered) < FEWEST
        or len({str(answer) for pair in both_answered for answer in pair}) < FEWEST
    ):
        return 0, 0
    return sum(equal(a, b) for a, b in both_answered), len(both_answered)
