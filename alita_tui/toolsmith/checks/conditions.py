"""Does a draft give the same answers elsewhere, at other times, and each time?

Its own tests and calls are repeated with clock, time zone, locale, hash seed and order changed, all at once. Which of
them made a difference is only searched for if there is one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from alita_tui.events import GateName, GateResult, GateRow, Json, ToolDraft
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, failed, passed, shown
from alita_tui.toolsmith.checks.condition_settings import (
    Setting,
    bundles,
    excused,
    knows_clocks,
    moments,
    singles,
)
from alita_tui.toolsmith.checks.inputs import dated, inputs
from alita_tui.toolsmith.checks.judge_report import Tested
from alita_tui.toolsmith.checks.probes import Fit, equal
from alita_tui.toolsmith.checks.workbench import Workbench, calls_of, tests_of

_CALLS = 16
_SECONDS = 3.0
_TOTAL = 24.0
_SHOWN = 6
_CODEC = re.compile(r"Unicode(En|De)codeError")
"""Errors of a tool that writes a file in a locale's encoding which cannot hold the text."""
_ASKS_LOCALE = re.compile(r"locale|encoding\(")
_CALLED = {"clock": "the clock", "zone": "the time zone"}

Calls = list[dict[str, Json]]
Answer = dict[str, Any]


class Seen(NamedTuple):
    """What a draft's tests and calls did under one setting."""

    failing: tuple[str, ...]
    answers: list[Answer]
    whole: bool
    """False if there was no time for all of it."""


class Plain(NamedTuple):
    """Results of the calls under no special condition."""

    alone: list[Answer]
    """Each call in a process of its own."""
    row: list[Answer]
    """One after the other in one process, forwards and then backwards."""
    again: list[Answer]
    """Each call once more in a process of its own; empty if not asked for."""

    def kept(self) -> list[int]:
        """Indices of calls whose result depends on earlier calls."""
        both = zip(self.alone, self.row, reversed(self.row), strict=False)
        return [n for n, (a, b, c) in enumerate(both) if not (same_answer(a, b) and same_answer(a, c))]

    def chance(self) -> list[int]:
        """Indices of calls whose result differs for no visible reason."""
        return [
            n for n, (a, b) in enumerate(zip(self.alone, self.again, strict=False)) if not same_answer(a, b)
        ]


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
        tried = [*bundles(now), *moments(case.draft.code, now)]
        plain, seen = await self._tried(case, calls, tried, again=False)
        moved = [setting for setting, one in zip(tried, seen, strict=False) if _moved(plain, one)]
        rows = await self._causes(case, calls, moved, now) if moved or plain.kept() else []
        rows.sort(key=lambda one: one.tone != "bad")
        if rows and rows[0].tone == "bad":
            return failed(self.name, f"{rows[0].label}: {rows[0].text}", rows[:_SHOWN])
        if len(seen) < len(tried) or not all(one.whole for one in seen):
            raise CouldNotRun("there was no time to try all conditions", rows)
        said = (
            f"tests and {len(calls)} calls come out alike under other clocks, zones, locale, seed and order"
        )
        if rows:
            said = "; ".join(f"{one.label}, as its purpose says" for one in rows)
        return passed(self.name, said, rows[:_SHOWN])

    async def _tried(
        self, case: Case, calls: Calls, tried: Sequence[Setting], *, again: bool
    ) -> tuple[Plain, list[Seen]]:
        """Return the results of the calls, plain and under each setting. Raises CouldNotRun."""
        alone = calls_of(case, calls[:_CALLS], fresh=True)  # each needs a process
        pieces = [alone, calls_of(case, [*calls, *reversed(calls)]), *([alone] if again else ())]
        plainly = len(pieces)
        pieces += [calls_of(case, calls, conditions=one.conditions) for one in tried]
        # Tests come last, because calls would find the files that tests leave.
        pieces += [tests_of(case, conditions=one.conditions) for one in tried if one.tests]
        judged = await self._bench.judge(case, pieces, total=_TOTAL)
        unasked = not _ASKS_LOCALE.search(case.draft.code)
        answers = [
            self._bench.answers(one, len(piece.calls))
            for one, piece in zip(judged[:plainly], pieces, strict=False)
        ]
        if len(answers) < plainly or any(
            map(lambda one, piece: len(one) < len(piece.calls), answers, pieces)
        ):
            raise CouldNotRun("there was no time to call it twice")
        plain = Plain(answers[0], answers[1], answers[2] if again else [])
        rest, tests = iter(judged[plainly:]), iter(judged[plainly + len(tried) :])
        seen: list[Seen] = []
        for one in tried:
            tested = next(tests, None) if one.tests else Tested()
            called = next(rest, None)
            if not isinstance(tested, Tested) or called is None:
                break
            local = bool(one.conditions.locale) and unasked
            failing = tuple(
                test.name
                for test in tested.cases
                if not test.passed and not (local and _CODEC.search(test.message))
            )
            wrong = failing or (
                (one_line(tested.error.strip().splitlines()[-1], 120),) if tested.error else ()
            )
            found = self._bench.answers(called, len(calls))
            if local:  # an encoding error of the locale is no difference in the tool
                pairs = zip(found, plain.row, strict=False)
                found = [b if _CODEC.search(str(a.get("error"))) else a for a, b in pairs]
            seen.append(Seen(wrong, found, len(found) == len(calls)))
        return plain, seen

    async def _causes(
        self, case: Case, calls: Calls, moved: Sequence[Setting], now: datetime
    ) -> list[GateRow]:
        """Return a row for each cause of a difference, found by changing one condition at a time."""
        causes = {cause for one in moved for cause in one.causes}
        single = [one for one in singles(now) if causes & {*one.causes}]
        single += [one for one in moved if one.said]  # these were single conditions
        plain, seen = await self._tried(case, calls, single, again=True)
        purpose = f"{case.draft.name.replace('_', ' ')}: {case.draft.description}"
        rows = []
        writes = case.draft.capabilities.workspace == "write"  # the next call is meant to find what it wrote
        chance = plain.chance()
        if chance:
            text = _other(calls[chance[0]], plain.alone[chance[0]], plain.again[chance[0]], "then")
            rows.append(_row("another result each time", text, writes or excused("chance", purpose)))
        elif kept := plain.kept():
            text = _other(
                calls[kept[0]], plain.row[-1 - kept[0]], plain.alone[kept[0]], "in a process of its own"
            )
            rows.append(_row("keeps state between calls", text, writes))
        named: set[str] = set()
        for setting, one in zip(single, seen, strict=False):
            (cause,) = setting.causes
            at = None if chance else _first(plain, one)
            if cause in named or (at is None and not one.failing):
                continue
            named.add(cause)
            texts = [_other(calls[at], one.answers[at], plain.row[at], "otherwise")] if at is not None else []
            texts += [f"its own tests fail: {', '.join(one.failing[:4])}"] if one.failing else []
            excuse = not one.failing and excused(cause, purpose)
            label = f"depends on {_CALLED[cause]}" if excuse else f"another result under {setting.said}"
            rows.append(_row(label, "; ".join(texts), excuse))
        if not rows:
            rows.append(_row("another result under several other conditions at once", "", False))
        return rows


def _calls(draft: ToolDraft, tests: Calls) -> Calls:
    """Return the calls to repeat; many dates if the code knows dates, since few of them reveal a dependency."""
    found = inputs(draft, tests, _CALLS)
    return [*found, *dated(found, Fit(draft.input_schema))] if knows_clocks(draft.code) else found


def _moved(plain: Plain, one: Seen) -> bool:
    return bool(one.failing) or _first(plain, one) is not None


def _first(plain: Plain, one: Seen) -> int | None:
    """Return the index of the first call whose result differs from the plain run; None if all agree."""
    pairs = enumerate(zip(plain.row, one.answers, strict=False))
    return next((n for n, (a, b) in pairs if not same_answer(a, b)), None)


def same_answer(a: Answer, b: Answer) -> bool:
    """Return True if two answers agree: equal results, or exceptions of the same name."""
    if "result" in a and "result" in b:
        return equal([a["result"]], [b["result"]])
    return "result" not in a and "result" not in b and a.get("error") == b.get("error")


def _other(call: dict[str, Json], now: Answer, before: Answer, said: str) -> str:
    return one_line(f"run({shown(call, 80)}) → {answer_said(now)}, {said} {answer_said(before)}", 280)


def answer_said(answer: Answer) -> str:
    """Return an answer in short."""
    return shown(answer["result"], 60) if "result" in answer else str(answer.get("error"))


def _row(label: str, text: str, excuse: bool) -> GateRow:
    return GateRow(label=label, text=text, tone="warn" if excuse else "bad")
