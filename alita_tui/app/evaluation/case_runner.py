"""One case of a run, from its home to its result."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.budget import LEAST_USD, RunBudget
from alita_tui.app.evaluation.case_session import (
    answer_of,
    case_home,
    failure_of,
    library_of,
    play,
    result_of,
)
from alita_tui.app.evaluation.checks import judge, start_check
from alita_tui.app.evaluation.costs import Key, home_of, judge_prefix, judged_in, paid_in
from alita_tui.app.evaluation.homes import CaseHomes
from alita_tui.app.evaluation.judge import judging
from alita_tui.app.evaluation.waiting import held_elsewhere, pending_in
from alita_tui.app.lending import Lent
from alita_tui.confined.run import Started
from alita_tui.evaluation.checks import Exact, Judged, Rubric
from alita_tui.evaluation.failures import not_found, question_at
from alita_tui.evaluation.results import CaseResult, Setup
from alita_tui.evaluation.suite import Case, Suite
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, BudgetExceeded, ConfigError, StoreLocked
from alita_tui.spine.text import one_line
from alita_tui.store import disk

State = Literal["ended", "waits", "spent"]
"""State of a case: it has its result, it waits for the person, or the run's budget is too small for its judge."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_INFERRED = ("gap misjudged", "misread task")
"""Inferred kinds of failure: if the answer is the name of a tool, whether it was found says more."""


def _disk_refused(error: BaseException | None) -> bool:
    """Return whether an error says that the disk is full or takes no writes."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


class _RunSpent(Exception):
    """The run's budget leaves too little for the judge."""


class CaseRunner:
    """Runs a case in its home and checks its answer."""

    def __init__(
        self,
        person: AppContext,
        setup: Setup,
        folder: Path,
        suite: Suite,
        homes: CaseHomes,
        budget: RunBudget,
        lent: Lent,
    ) -> None:
        self._person, self._setup, self._folder, self._suite = person, setup, folder, suite
        self._homes, self._budget, self._lent = homes, budget, lent
        self._judging = asyncio.Lock()

    async def run(
        self, case: Case, key: Key, cap: float, begun: Callable[[], object]
    ) -> tuple[CaseResult, State]:
        """Run one case; return its result and its state. `begun` is called when its task begins.

        An error of the case itself becomes its result. Raises ConfigError, and StoreError if the disk takes no writes.
        """
        began = time.perf_counter()
        result = CaseResult(
            case=case.id, model=key[1], turn=key[2], home=home_of(key, stream=self._suite.stream)
        )
        app = checker = None
        try:
            app = await asyncio.to_thread(self._opened, key, cap)
            checker = await asyncio.to_thread(start_check, case.check)
            played = time.perf_counter()
            session_id, history = await self._played(app, case, key, begun)
            ended = time.perf_counter()
            figures = result_of(case.id, key[1], key[2], history)
            result = replace(figures, session_id=session_id, home=result.home)
            result = replace(result, library_digest=await asyncio.to_thread(library_of, app))
            if self._setup.approve == "person" and result.outcome == "parked":
                if await asyncio.to_thread(pending_in, self._homes.home(key), session_id):
                    return result, "waits"
            try:
                judged = await self._judged(app, case, result, history, checker)
            finally:
                result = replace(result, judge_usd=judged_in(self._folder, key))
            result = replace(result, solved=judged.solved, why=judged.why)
            if not judged.solved:
                result = self._failed(result, case, history)
            overhead_ms = (time.perf_counter() - began - (ended - played)) * 1000
            return replace(result, overhead_ms=round(overhead_ms, 3)), "ended"
        except Exception as error:
            if (ended_by_error := await self._result_of_error(result, error)) is None:
                raise
            return ended_by_error
        finally:
            if checker is not None:
                checker.end()
            if app is not None:
                app.close()

    def _opened(self, key: Key, cap: float) -> AppContext:
        """Return the home of a case, which may cost at most `cap`."""
        setup = self._setup
        return case_home(
            self._person, self._homes.home(key), None if setup.configured else key[1], cap, setup.without,
            policy=setup.approve == "policy", lent=self._lent, described=self._suite.described,
        )  # fmt: skip

    async def _played(
        self, app: AppContext, case: Case, key: Key, begun: Callable[[], object]
    ) -> tuple[str, tuple[Envelope, ...]]:
        """Run the task of a case; return its session's id and events."""
        files = tuple(str(self._suite.file(file)) for file in case.files)
        return await play(
            app,
            case.task,
            files,
            self._setup.approved_digests,
            own_id=self._homes.session_id(key),
            begun=begun,
        )

    async def _judged(
        self,
        app: AppContext,
        case: Case,
        result: CaseResult,
        history: Sequence[Envelope],
        checker: Started | None,
    ) -> Judged:
        """Return whether the answer meets the case's check."""
        answer = answer_of(history)
        by_rubric = partial(self._by_rubric, result, case.task, answer)
        return await judge(app, self._suite, case.check, answer, history, by_rubric, checker)

    def _failed(self, result: CaseResult, case: Case, history: Sequence[Envelope]) -> CaseResult:
        """Return the result with the kind of its failure and the event where it went wrong."""
        kind, at = failure_of(history)
        if isinstance(case.check, Exact) and case.check.text in dict(self._suite.described):
            kind, at = not_found(history, case.check.text) if kind in _INFERRED else (kind, at)
        why = question_at(history, at) if kind == "question" else result.why
        return replace(result, failure=kind, at=at, why=why)

    async def _result_of_error(self, result: CaseResult, error: Exception) -> tuple[CaseResult, State] | None:
        """Return the result of a case that an error ended; None if the error ends the whole run.

        Raises StoreError if the disk takes no writes.
        """
        key = result.key
        match error:
            case ConfigError():
                return None  # every other case would fail, too
            case _RunSpent():
                return await self._counted(result), "spent"
            case StoreLocked() if await asyncio.to_thread(
                held_elsewhere, self._homes.home(key), self._homes.session_id(key)
            ):
                return await self._counted(result), "waits"
            case AlitaError():
                if _disk_refused(error.__cause__):
                    return None  # the case continues once there is room
                why = str(one_line(str(error), 500))
            case OSError() if _disk_refused(error):
                raise disk.store_error("written", self._folder, error) from error
            case _:  # the other cases go on
                why = f"unexpected: {type(error).__name__}: {one_line(str(error), 400)}"
        return replace(await self._counted(result), failure="harness", why=why), "ended"

    async def _by_rubric(self, result: CaseResult, task: str, answer: str, check: Rubric) -> Judged:
        """Ask the judge, one answer at a time, so that a rubric's labelled examples are judged only once.

        It may cost what the run has left. Raises _RunSpent if that is too little.
        """
        budget = self._budget
        async with self._judging:
            left = None
            if budget.cap_usd:
                left = budget.left_for(result.key) - result.usd - judged_in(self._folder, result.key)
                if left <= LEAST_USD:
                    raise _RunSpent
                budget.held[result.key] = budget.left_for(
                    result.key
                )  # so that no other case spends it meanwhile
            try:
                async with judging(self._person, self._folder, judge_prefix(result.key), left) as judge_model:
                    return await judge_model.judged(self._suite, check, task, answer)
            except BudgetExceeded as error:
                if left is None:
                    raise
                raise _RunSpent from error

    async def _counted(self, result: CaseResult) -> CaseResult:
        """Return the result with the cost of its sessions, if it has no cost yet."""
        if result.usd:
            return result
        with suppress(AlitaError, OSError):
            home, session_id = self._homes.home(result.key), self._homes.session_id(result.key)
            return replace(result, usd=await asyncio.to_thread(paid_in, home, session_id))
        return result
