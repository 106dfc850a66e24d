"""Does a draft give the same answers elsewhere, at other times, and each time?

Its own tests and calls are repeated with clock, time zone, locale, hash seed and order changed, all at once. Only if
something differs, the cause is searched for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from alita_tui.events import GateName, GateResult, GateRow, Json, ToolDraft
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, brief_json, evidence, failed, passed
from alita_tui.toolsmith.checks.condition_settings import (
    Setting,
    bundles,
    excused,
    knows_clocks,
    meetable,
    moments,
    singles,
)
from alita_tui.toolsmith.checks.inputs import dated, inputs
from alita_tui.toolsmith.checks.judge_report import Tested
from alita_tui.toolsmith.checks.probes import Fit, equal
from alita_tui.toolsmith.checks.workbench import Workbench, piece_of_calls, piece_of_tests

_CALLS = 16
_TOTAL = 24.0
_SHOWN = 6
_CODEC = re.compile(r"Unicode(En|De)codeError")
"""Errors of a tool that writes a file in a locale's encoding which cannot hold the text."""
_ASKS_LOCALE = re.compile(r"locale|encoding\(")
_CALLED = {"clock": "the clock", "zone": "the time zone"}

Calls = list[dict[str, Json]]
Answer = dict[str, Any]


class UnderSetting(NamedTuple):
    """The results of a draft's tests and calls under one setting."""

    failing: tuple[str, ...]
    """Names of its tests that failed, or the error that kept them from running."""
    answers: list[Answer]
    complete: bool
    """False if there was no time for all of them."""


class Plain(NamedTuple):
    """Results of the calls under no special condition."""

    alone: list[Answer]
    """Each call in a process of its own."""
    row: list[Answer]
    """All calls in one process, forwards and then backwards."""
    again: list[Answer]
    """Each call once more in a process of its own; empty if not asked for."""

    def stateful(self) -> list[int]:
        """Indices of calls whose result depends on earlier calls."""
        triples = zip(self.alone, self.row, reversed(self.row), strict=False)
        return [n for n, (a, b, c) in enumerate(triples) if not (same_answer(a, b) and same_answer(a, c))]

    def chance(self) -> list[int]:
        """Indices of calls whose result differs for no visible reason."""
        return [
            n for n, (a, b) in enumerate(zip(self.alone, self.again, strict=False)) if not same_answer(a, b)
        ]


_NO_CLOCK = "zones, locale and order; the clock of a program cannot be shifted"


class ConditionsCheck:
    """Same answers everywhere, at any time and in any order."""

    name: GateName = "conditions"

    def __init__(self, bench: Workbench, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._bench = bench
        self._now = now

    async def check(self, case: Case) -> GateResult:
        """Repeat tests and calls under other conditions. Raises CouldNotRun."""
        calls = await asyncio.to_thread(_calls, case.draft, await self._bench.used(case))
        now = self._now()
        tried = meetable([*bundles(now), *moments(case.draft.code, now)], case.draft.language)
        plain, results = await self._tried(case, calls, tried, again=False)
        differing = [
            setting for setting, result in zip(tried, results, strict=False) if _differs(plain, result)
        ]
        rows = await self._causes(case, calls, differing, now) if differing or plain.stateful() else []
        rows.sort(key=lambda row: row.tone != "bad")
        if rows and rows[0].tone == "bad":
            return failed(self.name, f"{rows[0].label}: {rows[0].text}", rows[:_SHOWN])
        if len(results) < len(tried) or not all(result.complete for result in results):
            raise CouldNotRun("there was no time to try all conditions", rows)
        changed = "clocks, zones, locale, seed and order" if case.draft.language == "python" else _NO_CLOCK
        summary = f"tests and {len(calls)} calls come out alike under other {changed}"
        if rows:
            summary = "; ".join(f"{row.label}, as its purpose says" for row in rows)
        return passed(self.name, summary, rows[:_SHOWN])

    async def _tried(
        self, case: Case, calls: Calls, tried: Sequence[Setting], *, again: bool
    ) -> tuple[Plain, list[UnderSetting]]:
        """Return the results of the calls, plain and under each setting. Raises CouldNotRun."""
        alone = piece_of_calls(case, calls[:_CALLS], fresh=True)  # a process for each call
        pieces = [alone, piece_of_calls(case, [*calls, *reversed(calls)]), *([alone] if again else ())]
        plain_count = len(pieces)
        pieces += [piece_of_calls(case, calls, conditions=setting.conditions) for setting in tried]
        # Tests come last, because they may leave files that the calls would find.
        pieces += [piece_of_tests(case, conditions=setting.conditions) for setting in tried if setting.tests]
        judged = await self._bench.judge(case, pieces, total=_TOTAL)
        ignores_locale = not _ASKS_LOCALE.search(case.draft.code)
        answers = [
            self._bench.answers(piece_result, len(piece.calls))
            for piece_result, piece in zip(judged[:plain_count], pieces, strict=False)
        ]
        if len(answers) < plain_count or any(
            map(lambda outcomes, piece: len(outcomes) < len(piece.calls), answers, pieces)
        ):
            raise CouldNotRun("there was no time to call it twice")
        plain = Plain(answers[0], answers[1], answers[2] if again else [])
        call_results, tests = iter(judged[plain_count:]), iter(judged[plain_count + len(tried) :])
        results: list[UnderSetting] = []
        for setting in tried:
            tested = next(tests, None) if setting.tests else Tested()
            called = next(call_results, None)
            if not isinstance(tested, Tested) or called is None:
                break
            local = bool(setting.conditions.locale) and ignores_locale
            failing = tuple(
                test.name
                for test in tested.cases
                if not test.passed and not tested.late and not (local and _CODEC.search(test.message))
            )
            failures = failing or (
                (one_line(tested.error.strip().splitlines()[-1], 120),) if tested.error else ()
            )
            values = self._bench.answers(called, len(calls))
            if local:  # an encoding error of the locale is not a difference in the tool
                pairs = zip(values, plain.row, strict=False)
                values = [b if _CODEC.search(str(a.get("error"))) else a for a, b in pairs]
            late = any(map(lambda a, b: _late(a) and not _late(b), values, plain.row))
            results.append(
                UnderSetting(failures, values, len(values) == len(calls) and not tested.late and not late)
            )
        return plain, results

    async def _causes(
        self, case: Case, calls: Calls, differing: Sequence[Setting], now: datetime
    ) -> list[GateRow]:
        """Return a row for each cause of a difference, found by changing one condition at a time."""
        causes = {cause for condition in differing for cause in condition.causes}
        single = [condition for condition in singles(now) if causes & {*condition.causes}]
        single += [condition for condition in differing if condition.label]  # these were single conditions
        single = meetable(single, case.draft.language)
        plain, results = await self._tried(case, calls, single, again=True)
        purpose = f"{case.draft.name.replace('_', ' ')}: {case.draft.description}"
        rows = []
        writes = case.draft.capabilities.workspace == "write"  # the next call is meant to find what it wrote
        chance = plain.chance()
        if chance:
            text = _compared(calls[chance[0]], plain.alone[chance[0]], plain.again[chance[0]], "then")
            rows.append(_row("another result each time", text, writes or excused("chance", purpose)))
        elif stateful := plain.stateful():
            text = _compared(
                calls[stateful[0]],
                plain.row[-1 - stateful[0]],
                plain.alone[stateful[0]],
                "in a process of its own",
            )
            rows.append(_row("keeps state between calls", text, writes))
        causes_shown: set[str] = set()
        for setting, result in zip(single, results, strict=False):
            (cause,) = setting.causes
            at = None if chance else _first(plain, result)
            if cause in causes_shown or (at is None and not result.failing):
                continue
            causes_shown.add(cause)
            excuse = not result.failing and excused(cause, purpose)
            label = f"depends on {_CALLED[cause]}" if excuse else f"another result under {setting.label}"
            rows.append(_row(label, _difference(calls, plain, result, calls_too=not chance), excuse))
        return rows or await self._together(case, calls, differing)

    async def _together(self, case: Case, calls: Calls, differing: Sequence[Setting]) -> list[GateRow]:
        """Return a row for a difference that no single condition causes. Raises CouldNotRun if it is not repeatable."""
        plain, results = await self._tried(case, calls, differing, again=False)
        for setting, result in zip(differing, results, strict=False):
            if _differs(plain, result):
                label = f"another result under {' and '.join(setting.causes)} at once"
                return [_row(label, _difference(calls, plain, result), False)]
        raise CouldNotRun("a result differed once and not again")


def _calls(draft: ToolDraft, tests: Calls) -> Calls:
    """Return the calls to repeat; many dates if the code knows dates, since few of them reveal a dependency."""
    calls = inputs(draft, tests, _CALLS)
    return [*calls, *dated(calls, Fit(draft.input_schema))] if knows_clocks(draft.code) else calls


def _differs(plain: Plain, result: UnderSetting) -> bool:
    return bool(result.failing) or _first(plain, result) is not None


def _first(plain: Plain, result: UnderSetting) -> int | None:
    """Return the index of the first call whose result differs from the plain run; None if all agree."""
    pairs = enumerate(zip(plain.row, result.answers, strict=False))
    return next((n for n, (a, b) in pairs if not same_answer(a, b)), None)


def _difference(calls: Calls, plain: Plain, result: UnderSetting, *, calls_too: bool = True) -> str:
    """Return the first call with another result, and the tests that fail."""
    at = _first(plain, result) if calls_too else None
    texts = [] if at is None else [_compared(calls[at], result.answers[at], plain.row[at], "otherwise")]
    texts += [f"its own tests fail: {', '.join(result.failing[:4])}"] if result.failing else []
    return "; ".join(texts)


def _late(answer: Answer) -> bool:
    """Return True if there was no time for an answer, which is no evidence either way."""
    return answer.get("error") == "timeout"


def same_answer(a: Answer, b: Answer) -> bool:
    """Return True for equal results, for exceptions of the same name, and if either answer timed out."""
    if _late(a) or _late(b):
        return True
    if "result" in a and "result" in b:
        return equal([a["result"]], [b["result"]])
    return "result" not in a and "result" not in b and a.get("error") == b.get("error")


def _compared(call: dict[str, Json], now: Answer, before: Answer, when: str) -> str:
    return one_line(f"run({brief_json(call, 80)}) → {answer_words(now)}, {when} {answer_words(before)}", 280)


def answer_words(answer: Answer) -> str:
    """Return an answer in short."""
    return brief_json(answer["result"], 60) if "result" in answer else str(answer.get("error"))


def _row(label: str, text: str, excuse: bool) -> GateRow:
    return evidence(label, text, "warn" if excuse else "bad")
