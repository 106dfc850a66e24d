"""The effect of a new version on the tools that call it: their own tests, and the calls that these make.

A caller's tests replace the tool that it calls, so they always pass. What counts is whether the new
version accepts the calls that they make, and answers them like the previous version.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator

import msgspec

from alita_tui.events import GateRow, Json, ToolDraft, ToolRecord
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.grants import TOOLS, tool_grants
from alita_tui.spine.judge_plan import stands_in
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.text import counted, one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, brief_json, evidence
from alita_tui.toolsmith.checks.judge_report import Tested
from alita_tui.toolsmith.checks.probes import equal, misfit
from alita_tui.toolsmith.checks.workbench import Workbench, piece_of_tests

BREAKS = "breaks "
"""Prefix of the label of a caller that the new version breaks."""
_MOST = 6
"""Callers that are tested again, and calls of each."""
_SECONDS = 8.0
_SEEN = "alita_seen_by_its_tests"
_OBSERVED = f"""import hosts as _alita_hosts
import json as _alita_json

_alita_asked = []
_alita_send = _alita_hosts._send


def _alita_kept():
    _alita_asked.extend(_alita_hosts.requests())
    _alita_send()


_alita_hosts._send = _alita_kept

%s


def test_{_SEEN}():
    _alita_asked.extend(_alita_hosts.requests())
    asked = [[one["url"], one["body"].decode()] for one in _alita_asked if len(one["body"]) < 400]
    raise AssertionError("alita:" + _alita_json.dumps(asked[:8]) + ":alita")
"""
_FUTURE = re.compile(r"(?m)^from __future__ import .*$")
_REPORTED = re.compile(r"alita:(\[.*\]):alita", re.DOTALL)


class Callers:
    """Looks at the tools that may call the one under check."""

    def __init__(self, bench: Workbench, shelf: ToolShelf) -> None:
        self._bench = bench
        self._shelf = shelf

    async def rows(self, case: Case) -> list[GateRow]:
        """Return a row for each caller, with what its tests say of the new version."""
        if case.parent is None:
            return []
        callers = await asyncio.to_thread(lambda: list(self._callers(case.draft.name)))
        rows = [await self._row(case, case.parent, caller) for caller in callers[:_MOST]]
        if more := callers[_MOST:]:
            rows.append(evidence("further callers", f"{counted(len(more), 'tool')} not tested again", "warn"))
        return rows

    def _callers(self, name: str) -> Iterator[ToolRecord]:
        """Yield the tools that run now and may call this one. Blocks on files."""
        for card in self._shelf.cards():
            try:
                record = self._shelf.get(card.name, card.version)
            except AlitaError:
                continue  # such a tool does not run
            if any(grant.name == name for grant in tool_grants(record.granted)):
                yield record

    async def _row(self, case: Case, parent: ToolDraft, caller: ToolRecord) -> GateRow:
        label = f"{caller.draft.name} v{caller.version}, which calls it"
        try:
            passing, calls = await self._tests(case, caller)
            if passing is None:
                return evidence(
                    label, "its tests do not stand in for what it calls; nothing is known", "warn"
                )
            if not passing:
                return evidence(label, "its own tests fail again by themselves", "warn")
            problems = await self._answers(case, parent, calls)
        except CouldNotRun as error:
            return evidence(label, f"it could not be tested again: {error.message}", "warn")
        if problems:
            return evidence(f"{BREAKS}{label}", one_line("; ".join(problems), 280), "bad")
        verb = "is" if len(calls) == 1 else "are"
        answered_text = f"{counted(len(calls), 'call')} that they make {verb} answered as before"
        return evidence(
            label,
            f"its tests pass again; {answered_text}" if calls else "its tests pass, and call it not once",
            "good",
        )

    async def _tests(self, case: Case, caller: ToolRecord) -> tuple[bool | None, list[Json]]:
        """Return whether a caller's tests pass (None: no evidence), and the calls of the tool that they make."""
        if not stands_in(caller.draft.tests):
            return None, []
        theirs = Case(build_id=case.build_id, draft=caller.draft, lock=caller.lock)
        piece = msgspec.structs.replace(
            piece_of_tests(theirs, seconds=_SECONDS), tests=_OBSERVED % _FUTURE.sub("", caller.draft.tests)
        )
        (entry,) = await self._bench.judge(theirs, [piece], total=3 * _SECONDS)
        if not isinstance(entry, Tested) or entry.late or entry.error:
            raise CouldNotRun("its tests did not come to an end")
        own = [case_result for case_result in entry.cases if case_result.name != f"test_{_SEEN}"]
        observed = next(
            (case_result.message for case_result in entry.cases if case_result.name == f"test_{_SEEN}"), ""
        )
        return bool(own) and all(case_result.passed for case_result in own), _calls_in(
            observed, case.draft.name
        )

    async def _answers(self, case: Case, parent: ToolDraft, calls: list[Json]) -> list[str]:
        """Return how the new version's answers to these calls differ from the previous version's."""
        problems = [
            f"run({brief_json(arguments, 80)}) is not taken: {why}"
            for arguments in calls
            if (why := _misfit(arguments, case.draft.input_schema))
        ]
        if problems or not calls:
            return problems
        before = Case(build_id=case.build_id, draft=parent, lock=case.lock)
        now, then = await asyncio.gather(
            self._bench.outputs(case, calls, fresh=True), self._bench.outputs(before, calls, fresh=True)
        )
        for arguments, new, old in zip(calls, now, then, strict=False):
            if "result" not in old:
                continue  # the tests' replacement answered a call that the tool itself cannot answer here
            if "result" not in new:
                problems.append(
                    f"run({brief_json(arguments, 80)}) → {new.get('error')}, before {brief_json(old['result'], 60)}"
                )
            elif not equal(old["result"], new["result"]):
                difference = f"{brief_json(new['result'], 60)}, before {brief_json(old['result'], 60)}"
                problems.append(f"run({brief_json(arguments, 80)}) → {difference}")
        return problems


def _calls_in(observed: str, name: str) -> list[Json]:
    """Return the distinct arguments of a tool's calls in an observed test run."""
    match = _REPORTED.search(observed)
    try:
        pairs = json.loads(match[1]) if match else []
        bodies = [json.loads(body) for url, body in pairs if url == f"{TOOLS}{name}"]
    except (ValueError, TypeError):
        return []
    unique: list[Json] = []
    for arguments in bodies:
        if isinstance(arguments, dict) and arguments not in unique:
            unique.append(arguments)
    return unique[:_MOST]


def _misfit(arguments: Json, schema: Json) -> str:
    """Return why a schema does not accept arguments; empty if it does, or if that cannot be checked."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(properties, dict) and not schema.get("additionalProperties"):
        if strangers := [name for name in arguments if name not in properties]:
            return f"{one_line(strangers[0], 60)} is none of its parameters"
    why = misfit(arguments, schema) if schema else ""
    return "" if why.startswith("the schema cannot") else why
