"""Measures how alike two tools of the library are: both get the same arguments, and their answers are compared."""

from __future__ import annotations

import asyncio

from alita_tui.events import BuildId, Json, ToolDraft, ToolRecord
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, both_results
from alita_tui.toolsmith.checks.probes import equal, fits, kind_of, probes
from alita_tui.toolsmith.checks.workbench import Workbench

_PROBES = 14
FEWEST = 4
"""Fewest probes that both tools answer, and fewest different answers, for a comparison to count."""


def comparable(left: ToolDraft, right: ToolDraft) -> bool:
    """Return True if both take required arguments of the same types in the same order, and are granted nothing."""
    return (
        bool(_required(left))
        and _shape(left) == _shape(right)
        and left.capabilities.none
        and right.capabilities.none
    )


async def kinship(bench: Workbench, left: ToolRecord, right: ToolRecord) -> tuple[int, int]:
    """Return how many probes two tools answer alike, and how many both answer. Raises CouldNotRun.

    Both are 0 if the comparison is no evidence, because too few are answered or all answers are the same.
    """
    pairs = await asyncio.to_thread(_pairs, left.draft, right.draft)
    mine, theirs = (
        Case(build_id=BuildId("kinship"), draft=tool.draft, lock=tool.lock) for tool in (left, right)
    )
    ours, answers = await both_results(
        bench.outputs(mine, [ours for ours, _ in pairs], fresh=True, seconds=1.5),
        bench.outputs(theirs, [theirs for _, theirs in pairs], fresh=True, seconds=1.5),
    )
    if isinstance(ours, CouldNotRun):
        raise ours
    if isinstance(answers, CouldNotRun):
        raise answers
    both_answered = [
        (a["result"], b["result"])
        for a, b in zip(ours, answers, strict=False)
        if "result" in a and "result" in b
    ]
    if (
        len(both_answered) < FEWEST
        or len({str(answer) for pair in both_answered for answer in pair}) < FEWEST
    ):
        return 0, 0
    return sum(equal(a, b) for a, b in both_answered), len(both_answered)


def _pairs(left: ToolDraft, right: ToolDraft) -> list[tuple[Json, Json]]:
    """Return the same values under either tool's names, where both schemas accept them."""
    mine, theirs = _required(left), _required(right)
    pairs: list[tuple[Json, Json]] = []
    for arguments in (*probes(left, _PROBES // 2), *probes(right, _PROBES // 2)):
        names = mine if set(mine) <= set(arguments) else theirs
        if not set(names) <= set(arguments):
            continue
        values = [arguments[name] for name in names]
        a, b = dict(zip(mine, values, strict=True)), dict(zip(theirs, values, strict=True))
        if fits(a, left.input_schema) and fits(b, right.input_schema) and (a, b) not in pairs:
            pairs.append((a, b))
    return pairs


def _shape(draft: ToolDraft) -> tuple[str, ...]:
    return tuple(kind_of(draft.input_schema["properties"][name]) for name in _required(draft))


def _required(draft: ToolDraft) -> list[str]:
    schema = draft.input_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not isinstance(required, list):
        return []
    return [str(name) for name in properties if name in required]
