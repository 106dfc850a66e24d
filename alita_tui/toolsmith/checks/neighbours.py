"""Is there a tool that does this already? Compares near tools by description and by their answers to probes."""

from __future__ import annotations

import asyncio

import msgspec

from alita_tui.events import GateName, GateResult, GateRow, Json, ToolDraft, ToolRecord, Twin
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.toolsmith.checks.case import Case, evidence, failed, passed
from alita_tui.toolsmith.checks.probes import equal, fits, kind_of, probes
from alita_tui.toolsmith.checks.workbench import Workbench

_PROBES = 14
_FEWEST = 4
"""Answers that have to exist, and to differ, before two tools can be called alike."""
_ALIKE = 0.9
_TRIED = 4
_LOOKED_AT = 300


class NeighboursCheck:
    """Nearest tools by description and by behaviour."""

    name: GateName = "neighbours"

    def __init__(self, bench: Workbench, shelf: ToolShelf) -> None:
        self._bench = bench
        self._shelf = shelf

    async def check(self, case: Case) -> GateResult:
        """Compare answers with those of the nearest tools."""
        near = await asyncio.to_thread(self._near, case.draft)
        if not near:
            return passed(self.name, "no tool of the library takes arguments of this shape")
        rows: list[GateRow] = []
        twins: list[Twin] = []
        for record, score in near:
            pairs = await asyncio.to_thread(_shared, case.draft, record.draft)
            comparison, alike = await self._compare(case, record, pairs)
            summary = f"{score:.2f} by description · {comparison}"
            label = f"{record.draft.name} v{record.version}"
            rows.append(evidence(label, summary, "bad" if alike else ""))
            twins += [_twin(record)] if alike else []
        if twins:
            summary = f"{twins[0].label} gives the same answers: reuse it, alias it, or approve to keep both"
            return msgspec.structs.replace(failed(self.name, summary, rows), twins=tuple(twins))
        return passed(self.name, f"{len(near)} tools with such arguments answer otherwise", rows)

    def _near(self, draft: ToolDraft) -> list[tuple[ToolRecord, float]]:
        """Return tools whose arguments have the same types, nearest by description first. Blocks on files."""
        results = self._shelf.search(f"{draft.name} {draft.description}", limit=10)
        scores: dict[str, float] = {hit.card.name: hit.score for hit in results.hits}
        scores |= {miss.name: miss.score for miss in results.near_misses}
        near = []
        for card in self._shelf.cards()[:_LOOKED_AT]:
            if card.name == draft.name:
                continue
            try:
                record = self._shelf.get(card.name, card.version)
            except AlitaError:
                continue  # its files are missing or changed, so it does not run either
            if _shape(record.draft.input_schema) == _shape(draft.input_schema):
                near.append((record, scores.get(card.name, 0.0)))
        near.sort(key=lambda scored: -scored[1])
        return near[:_TRIED]

    async def _compare(
        self, case: Case, record: ToolRecord, pairs: list[tuple[Json, Json]]
    ) -> tuple[str, bool]:
        theirs = Case(build_id=case.build_id, draft=record.draft, lock=record.lock)
        ours, their_answers = await asyncio.gather(
            self._bench.outputs(case, [our_arguments for our_arguments, _ in pairs], fresh=True, seconds=1.5),
            self._bench.outputs(
                theirs, [their_arguments for _, their_arguments in pairs], fresh=True, seconds=1.5
            ),
        )
        both = [
            (a["result"], b["result"])
            for a, b in zip(ours, their_answers, strict=False)
            if "result" in a and "result" in b
        ]
        alike = sum(equal(a, b) for a, b in both)
        kinds = {str(a) for a, _ in both}
        summary = f"the same answer to {alike} of {len(both)} probes" if both else "no probe that both answer"
        telling = len(both) >= _FEWEST and len(kinds) >= _FEWEST
        return summary, telling and alike >= _ALIKE * len(both)


def _twin(record: ToolRecord) -> Twin:
    return Twin(name=record.draft.name, version=record.version, digest=record.digest)


def _shape(schema: Json) -> tuple[tuple[str, ...], int]:
    """Return the types of the required parameters in order, and their number."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if not isinstance(properties, dict):
        return (), 0
    required = schema.get("required", [])
    needed = [name for name in properties if isinstance(required, list) and name in required]
    return tuple(kind_of(properties[name]) for name in needed), len(needed)


def _shared(ours: ToolDraft, theirs: ToolDraft) -> list[tuple[Json, Json]]:
    """Return probes of both tools: the same values under either tool's names, where both schemas accept them."""
    inputs = probes(theirs, _PROBES // 2) + probes(ours, _PROBES // 2)
    mine, their_names = _required(ours), _required(theirs)
    pairs: list[tuple[Json, Json]] = []
    for arguments in inputs:
        names = mine if set(mine) <= set(arguments) else their_names
        if not set(names) <= set(arguments):
            continue
        values = [arguments[name] for name in names]
        a, b = dict(zip(mine, values, strict=True)), dict(zip(their_names, values, strict=True))
        if fits(a, ours.input_schema) and fits(b, theirs.input_schema) and (a, b) not in pairs:
            pairs.append((a, b))
    return pairs


def _required(draft: ToolDraft) -> list[str]:
    schema = draft.input_schema
    return [name for name in schema.get("properties", {}) if name in schema.get("required", [])]
