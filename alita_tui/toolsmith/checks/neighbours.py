"""Finds tools of the library that do the same: compares answers with all tools, and runs those that may be alike.

A tool's answers to its own probes are stored (`fingerprints.py`): a build runs once, on the probes of all tools with
such arguments, and only the few tools that agree are run beside it. Tools without stored answers are run on their own
probes, the nearest by description first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from alita_tui.events import (
    BuildId,
    GateName,
    GateResult,
    GateRow,
    Json,
    ToolDraft,
    ToolRecord,
    Twin,
    build_digest,
)
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.text import counted
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, both_results, evidence, failed, passed
from alita_tui.toolsmith.checks.fingerprints import (
    agreement,
    answered_by_both,
    arguments,
    fingerprint,
    own_probes,
    shape,
    shared_probes,
    suspicious,
)
from alita_tui.toolsmith.checks.probes import equal
from alita_tui.toolsmith.checks.workbench import Workbench

_FEWEST = 4
"""Answers that have to exist, and to differ, before two tools can be called alike."""
_ALIKE = 0.9
_NEAREST = 4
"""Nearest tools by description that are run beside the build even if their stored answers differ."""
_SUSPECTS = 6
"""Other tools that are run, because their stored answers agree."""
_RUN_FIRST = 40
"""Most tools without stored answers that are run on their own probes, the nearest first."""
_MOST_PROBES = 300
"""Probes of other tools that a build is run on."""
_SECONDS = 20.0


class _Near(NamedTuple):
    """A tool that takes the same types of arguments."""

    record: ToolRecord
    score: float
    """How near it is by description; 0 if it is not."""


class NeighboursCheck:
    """Nearest tools by description and by behaviour."""

    name: GateName = "neighbours"

    def __init__(self, bench: Workbench, shelf: ToolShelf) -> None:
        self._bench = bench
        self._shelf = shelf

    async def check(self, case: Case) -> GateResult:
        """Compare answers with those of all tools that take such arguments."""
        near = await asyncio.to_thread(self._near, case.draft)
        theirs = await self._their_answers(near)
        ours = await self._our_answers(case, [theirs[neighbour.record.digest] for neighbour in near])
        if not near:
            return passed(self.name, "no tool of the library takes arguments of this shape")
        agreements = {
            neighbour.record.digest: agreement(ours, theirs[neighbour.record.digest]) for neighbour in near
        }
        suspects = [
            neighbour for neighbour in near[_NEAREST:] if suspicious(*agreements[neighbour.record.digest])
        ][:_SUSPECTS]
        rows: list[GateRow] = []
        twins: list[Twin] = []
        for neighbour in (*near[:_NEAREST], *suspects):
            record = await asyncio.to_thread(self._runnable, neighbour.record)
            if record is None:
                continue
            pairs = await asyncio.to_thread(shared_probes, case.draft, record.draft)
            comparison, alike = await self._compare(case, record, pairs)
            summary = f"{neighbour.score:.2f} by description · {comparison}"
            label = f"{record.draft.name} v{record.version}"
            rows.append(evidence(label, summary, "bad" if alike else ""))
            twins += [_twin(record)] if alike else []
        with_answers = sum(bool(theirs[neighbour.record.digest]) for neighbour in near)
        if twins:
            choices = "reuse it, merge the two, alias it, or approve to keep both"
            summary = f"{twins[0].label} gives the same answers: {choices}"
            return msgspec.structs.replace(failed(self.name, summary, rows), twins=tuple(twins))
        missing = f"; {len(near) - with_answers} could not be compared" if with_answers < len(near) else ""
        verb = "answers" if with_answers == 1 else "answer"
        summary_text = f"{counted(with_answers, 'tool')} with such arguments {verb} otherwise{missing}"
        return passed(self.name, summary_text, rows)

    def _near(self, draft: ToolDraft) -> list[_Near]:
        """Return tools whose arguments have the same types, nearest by description first."""
        results = self._shelf.search(f"{draft.name} {draft.description}", limit=50)
        scores: dict[str, float] = {hit.card.name: hit.score for hit in results.hits}
        scores |= {miss.name: miss.score for miss in results.near_misses}
        ours = shape(draft)
        near = [
            _Near(record, scores.get(record.draft.name, 0.0))
            for record in self._shelf.records()
            if record.draft.name != draft.name and shape(record.draft) == ours
            if record.origin != "remote"  # probing a server could have any effect
        ]
        return sorted(near, key=lambda neighbour: -neighbour.score)

    async def _their_answers(self, near: Sequence[_Near]) -> dict[str, Mapping[str, Json]]:
        """Return the tools' answers to their own probes; tools without stored answers are run."""
        digests = [str(neighbour.record.digest) for neighbour in near]
        by_digest = dict(
            zip(
                digests, await asyncio.to_thread(lambda: [*map(self._shelf.answers.of, digests)]), strict=True
            )
        )
        new = [neighbour.record for neighbour in near if not by_digest[neighbour.record.digest]][:_RUN_FIRST]
        for record, answers in zip(new, await asyncio.gather(*map(self._probed, new)), strict=True):
            by_digest[record.digest] = answers
        return by_digest

    async def _probed(self, listed: ToolRecord) -> dict[str, Json]:
        """Run a tool on its own probes and store the answers; return an empty mapping if it cannot run."""
        record = await asyncio.to_thread(self._runnable, listed)
        if record is None:
            return {}
        case = Case(build_id=BuildId(record.digest[:16]), draft=record.draft, lock=record.lock)
        answers = await self._answers(case, await asyncio.to_thread(own_probes, record.draft))
        if answers:
            await asyncio.to_thread(self._shelf.answers.keep, record.digest, answers, registered=True)
        return answers

    async def _our_answers(self, case: Case, theirs: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Run the build on its own probes and on those of other tools; store the answers to its own."""
        own = await asyncio.to_thread(own_probes, case.draft)
        their_probes = dict.fromkeys(probe for answers in theirs for probe in answers)
        probe_texts = list(dict.fromkeys([*own, *their_probes]))[:_MOST_PROBES]
        answers = await self._answers(case, probe_texts)
        digest = build_digest(case.draft, case.lock)
        own_answers = {probe: answers[probe] for probe in own if probe in answers}
        await asyncio.to_thread(self._shelf.answers.keep, digest, own_answers, registered=False)
        return answers

    async def _answers(self, case: Case, probe_texts: Sequence[str]) -> dict[str, Json]:
        """Return a tool's answers to the probes that it accepts and that there is time for."""
        accepted = [
            (probe, values) for probe in probe_texts if (values := arguments(case.draft, probe)) is not None
        ]
        if not accepted:
            return {}
        try:
            answers = await self._bench.outputs(
                case, [values for _, values in accepted], fresh=True, seconds=1.5, total=_SECONDS
            )
        except CouldNotRun:
            return {}
        return fingerprint([probe for probe, _ in accepted], answers)

    def _runnable(self, record: ToolRecord) -> ToolRecord | None:
        """Return a tool as its files have it; None if they are missing or changed, since it does not run then."""
        try:
            return self._shelf.get(record.draft.name, record.version)
        except AlitaError:
            return None

    async def _compare(
        self, case: Case, record: ToolRecord, pairs: list[tuple[Json, Json]]
    ) -> tuple[str, bool]:
        """Return what came of running the build and a tool on the same probes, and whether they are alike."""
        their_case = Case(build_id=case.build_id, draft=record.draft, lock=record.lock)
        our_answers, their_answers = await both_results(
            self._bench.outputs(case, [our_arguments for our_arguments, _ in pairs], fresh=True, seconds=1.5),
            self._bench.outputs(
                their_case, [their_arguments for _, their_arguments in pairs], fresh=True, seconds=1.5
            ),
        )
        if isinstance(our_answers, CouldNotRun):
            raise our_answers
        if isinstance(their_answers, CouldNotRun):
            return f"not compared: {their_answers.message}", False
        both_answered = answered_by_both(our_answers, their_answers)
        alike = sum(equal(a, b) for a, b in both_answered)
        kinds = {str(a) for a, _ in both_answered}
        summary = (
            f"the same answer to {alike} of {len(both_answered)} probes"
            if both_answered
            else "no probe that both answer"
        )
        enough = len(both_answered) >= _FEWEST and len(kinds) >= _FEWEST
        return summary, enough and alike >= _ALIKE * len(both_answered)


def _twin(record: ToolRecord) -> Twin:
    return Twin(name=record.draft.name, version=record.version, digest=record.digest)
