"""Generates many inputs that the input schema allows: is each answered, and within the output schema?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from alita_tui.events import GateName, GateResult, Json, ToolDraft, Value
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, brief_json, evidence, failed, passed
from alita_tui.toolsmith.checks.conditions import answer_words, same_answer
from alita_tui.toolsmith.checks.inputs import inputs
from alita_tui.toolsmith.checks.judge_report import refused
from alita_tui.toolsmith.checks.probes import Fit, calls_in
from alita_tui.toolsmith.checks.schema_gaps import holes
from alita_tui.toolsmith.checks.workbench import Workbench

_FEWEST = 50
_MOST_REFUSED = 0.8
_ROUNDS = 2
"""How many times smaller inputs with the same fault are searched for."""
_KINDS_SHOWN = 6
_AGAIN = 20
"""Inputs, including those of the tests, that are tried again at the end."""
_TIMES = 6

_ALONE = 8.0
"""Seconds after which a call that runs alone counts as endless."""

Answer = dict[str, Any]
Calls = list[dict[str, Json]]
Pairs = list[tuple[dict[str, Json], Answer]]


class Fault(Value, frozen=True):
    """An input that the schema allows, and what was wrong with the answer."""

    kind: str
    """Equal for faults that are alike: the exception, `timeout`, or where the result does not fit."""
    arguments: dict[str, Json]
    text: str


class FuzzCheck:
    """Inputs generated from the schema."""

    name: GateName = "fuzz"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """Try generated inputs and report faults, each with a small input. Raises CouldNotRun."""
        tests = await self._bench.used(case) or list(calls_in(case.draft))
        candidates = await asyncio.to_thread(inputs, case.draft, tests)
        if not candidates:
            raise CouldNotRun("no input could be made from the input schema")
        repeated = candidates[:_AGAIN] * _TIMES
        answers = await self._bench.outputs(case, [*candidates, *repeated], seconds=2.0, total=12.0)
        late, answers = answers[len(candidates) :], answers[: len(candidates)]
        pairs = list(zip(candidates, answers, strict=False))
        pairs = await self._without_slow(case, pairs)
        fault_list = await asyncio.to_thread(faults, case.draft, pairs)
        if not fault_list and len(pairs) < min(_FEWEST, len(candidates)):
            raise CouldNotRun(f"there was time for {len(pairs)} of {len(candidates)} inputs")
        fault_list = await self._smallest(case, fault_list)
        stateful = await self._stateful(case, candidates, answers, late)
        open_ends = await asyncio.to_thread(holes, case.draft, tests, answers)
        rows = [evidence(hole.where, hole.text, "bad") for hole in open_ends if hole.serious]
        rows += [
            evidence(f"run({brief_json(fault.arguments, 100)})", fault.text, "bad") for fault in fault_list
        ]
        rows += [evidence("keeps state between calls", stateful, "bad")] if stateful else []
        rows += [evidence(hole.where, hole.text, "warn") for hole in open_ends if not hole.serious]
        bad = [row for row in rows if row.tone == "bad"]
        if bad:
            summary = f"of {len(pairs)} inputs that the schema allows: {bad[0].label} {bad[0].text}"
            return failed(self.name, summary, rows[:_KINDS_SHOWN])
        declined = sum(refused(answer, case.draft) for _, answer in pairs)
        summary = f"{len(pairs)} inputs that the schema allows, each answered within the output schema"
        if len(pairs) > 4 and declined > _MOST_REFUSED * len(pairs):
            text = f"{declined} of {len(pairs)} inputs that the schema allows are refused"
            rows.append(evidence("refused", text, "warn"))
        if declined:
            answered_count = len(pairs) - declined
            summary = (
                f"{len(pairs)} inputs that the schema allows: {answered_count} answered, {declined} refused"
            )
        return passed(self.name, summary, rows)

    async def _without_slow(self, case: Case, pairs: Pairs) -> Pairs:
        """Leave out the inputs that timed out, unless one of three also times out alone and with more time.

        On a busy machine, or if each call starts a browser, a call can be slow without being endless.
        """
        late = sorted(
            (arguments for arguments, answer in pairs if answer.get("error") == "timeout"),
            key=lambda arguments: len(brief_json(arguments, 100_000)),
        )
        if not late:
            return pairs
        in_time = [(arguments, answer) for arguments, answer in pairs if arguments not in late]
        ended: Pairs = []
        for arguments in (late[0], late[len(late) // 2], late[-1])[: len(late)]:
            answers = await self._bench.outputs(
                case, [arguments], fresh=True, seconds=_ALONE, total=3 * _ALONE
            )
            if answers and answers[0].get("error") == "timeout":
                return [*in_time, (arguments, answers[0])]
            ended += [(arguments, answer) for answer in answers]
        return [*in_time, *ended]

    async def _stateful(self, case: Case, tried: Calls, answers: list[Answer], late: list[Answer]) -> str:
        """Return how a repeated input got another answer after hundreds of others; empty if none did.

        A difference that appears without other calls in between is chance, which the conditions check reports.
        """
        if case.draft.capabilities.workspace == "write":
            return ""  # the next call is meant to find what this one writes
        for number, answer in enumerate(late):
            n = number % min(_AGAIN, len(tried))
            if same_answer(answers[n], answer) or answer.get("error") in ("timeout", "ended"):
                continue
            alone = await self._bench.outputs(case, [tried[n]] * 4, fresh=True, total=8.0)
            if len(alone) < 4 or not all(same_answer(answers[n], repeated) for repeated in alone):
                return ""
            first, later = answer_words(answers[n]), answer_words(answer)
            return f"run({brief_json(tried[n], 80)}) → {first} at first, {later} as call {len(tried) + number + 1}"
        return ""

    async def _smallest(self, case: Case, smallest: list[Fault]) -> list[Fault]:
        """Return the same faults with the smallest inputs that can be found quickly."""
        for _ in range(_ROUNDS):
            tries = await asyncio.to_thread(_tries, smallest, case.draft)
            if not tries:
                break
            answers = await self._bench.outputs(case, tries, seconds=2.0, total=4.0)
            pairs = list(zip(tries, answers, strict=False))
            found_again = await asyncio.to_thread(faults, case.draft, pairs)
            kinds = {fault.kind: fault for fault in found_again}
            previous = smallest
            smallest = [min(fault, kinds.get(fault.kind, fault), key=_size) for fault in smallest]
            if smallest == previous:
                break
        return smallest


def faults(draft: ToolDraft, pairs: list[tuple[dict[str, Json], dict[str, Any]]]) -> list[Fault]:
    """Return what is wrong with the answers: the smallest input of each kind, smallest first."""
    fit = Fit(draft.output_schema)
    smallest: dict[str, Fault] = {}
    for arguments, answer in pairs:
        fault = _fault(draft, fit, arguments, answer)
        if fault and (fault.kind not in smallest or _size(fault) < _size(smallest[fault.kind])):
            smallest[fault.kind] = fault
    return sorted(smallest.values(), key=_size)[:_KINDS_SHOWN]


def _fault(draft: ToolDraft, fit: Fit, arguments: dict[str, Json], answer: dict[str, Any]) -> Fault | None:
    if "result" in answer:
        reason = fit.misfit(answer["result"])
        where = reason.partition(":")[0]
        text = one_line(f"→ {brief_json(answer['result'], 60)}: {reason}", 200)
        certain = reason and not fit.spent
        return Fault(kind=f"misfit {where}", arguments=arguments, text=text) if certain else None
    error = str(answer.get("error", ""))
    if error == "timeout":
        return Fault(kind=error, arguments=arguments, text="comes to no end")
    if refused(answer, draft):
        return None
    reason = answer.get("unfit") or answer.get("text", "")
    return Fault(kind=error, arguments=arguments, text=one_line(f"→ {error}: {reason}", 200))


def _size(fault: Fault) -> int:
    return len(brief_json(fault.arguments, 100_000))


def _tries(known_faults: list[Fault], draft: ToolDraft) -> list[dict[str, Json]]:
    tries = [arguments for fault in known_faults for arguments in smaller(fault.arguments, draft)]
    return list({brief_json(arguments, 100_000): arguments for arguments in tries}.values())[:120]


_MOST_SMALLER = 40


def smaller(arguments: dict[str, Json], draft: ToolDraft) -> list[dict[str, Json]]:
    """Return arguments that fit the schema and have one part made smaller, smallest first."""
    fit = Fit(draft.input_schema)
    candidates: list[dict[str, Json]] = []
    for name, value in arguments.items():
        remaining = {key: item for key, item in arguments.items() if key != name}
        for candidate in (remaining, *({**arguments, name: less} for less in _less(value))):
            if candidate not in candidates and candidate != arguments and fit(candidate):
                candidates.append(candidate)
    return sorted(candidates, key=lambda smaller_arguments: len(str(smaller_arguments)))[:_MOST_SMALLER]


def _less(value: Json) -> Iterator[Json]:
    match value:
        case bool():
            return
        case int() | float():
            yield from (
                number for number in (0, 1, int(value), value // 2, -value) if abs(number) <= abs(value)
            )
        case str() | list():
            half = len(value) // 2
            yield from (value[:0], value[:1], value[:half], value[half:], value[1:], value[:-1])
            if isinstance(value, list):
                for n, item in enumerate(value[:4]):
                    yield from ([*value[:n], less, *value[n + 1 :]] for less in _less(item))
        case dict():
            yield from ({key: item for key, item in value.items() if key != removed} for removed in value)
            for key, item in value.items():
                yield from ({**value, key: less} for less in _less(item))
        case _:
            return
