"""Executes a run of a suite: each case in a home of its own, its result on disk, so a killed run can continue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.beginning import planned
from alita_tui.app.evaluation.budget import RunBudget
from alita_tui.app.evaluation.case_queue import CaseQueue, Waits
from alita_tui.app.evaluation.case_runner import CaseRunner
from alita_tui.app.evaluation.costs import Key, judged_in, paid_in
from alita_tui.app.evaluation.homes import CaseHomes
from alita_tui.app.evaluation.run_store import append_result, locked, results_of
from alita_tui.app.lending import Lent
from alita_tui.evaluation.results import CaseResult, Setup
from alita_tui.evaluation.suite import Case, Suite, read_suite
from alita_tui.spine.errors import AlitaError, UsageError

Report = Callable[[CaseResult, int, int], object]
"""Called with the result of each case, how many cases have ended, and how many there are."""


async def run_cases(
    app: AppContext,
    setup: Setup,
    folder: Path,
    jobs: int,
    report: Report,
    waits: Waits = lambda wait: None,
    *,
    stay: bool = False,
) -> tuple[CaseResult, ...]:
    """Run the remaining cases, `jobs` at a time; return the results of all cases that ended, also earlier.

    A case that waits for the person continues once they have decided. With `stay` the run waits for that even if no
    other case is left; it always waits for a case whose session is open in a console. Raises UsageError if the suite
    has changed, StoreLocked if another process executes the run.
    """
    suite = read_suite(Path(setup.suite_path))
    if suite.digest != setup.suite_digest:
        raise UsageError(
            f"The suite {setup.suite} has changed since the run {setup.run} began.",
            hint="Begin a new run: results of other cases cannot be continued.",
        )
    with locked(folder):
        work = _Work(app, setup, folder, suite, report, waits, stay=stay)
        await work.do(jobs)
        return tuple(work.done.values())


class _Work:
    """A run in progress: workers that take cases until none is left, or the budget is used up."""

    def __init__(
        self,
        app: AppContext,
        setup: Setup,
        folder: Path,
        suite: Suite,
        report: Report,
        waits: Waits,
        *,
        stay: bool,
    ) -> None:
        self._app, self._folder, self._report = app, folder, report
        all_cases = planned(setup, suite)
        self._total = len(all_cases)
        self.done = {result.key: result for result in results_of(folder)}
        left = [
            (case, model, turn) for case, model, turn in all_cases if (case.id, model, turn) not in self.done
        ]
        freed = asyncio.Event()
        self._budget = RunBudget(setup.budget_usd, self.done, freed)
        self._homes = CaseHomes(app, folder, stream=suite.stream)
        self._queue = CaseQueue(
            app, self._homes, left, self._budget.held, freed, waits, stream=suite.stream, stay=stay
        )
        self._lent = Lent(app.sandbox(setup.run, pool=True), app.spend_book(setup.run))
        """Shared by all cases: starting a sandbox takes longer than most tasks, and the cap of a day is for all."""
        self._runner = CaseRunner(app, setup, folder, suite, self._homes, self._budget, self._lent)

    async def do(self, jobs: int) -> None:
        """Run the remaining cases until the budget is used up."""
        left = self._queue.keys
        for key in left:
            if (home := self._homes.home(key)).exists():
                paid = await asyncio.to_thread(paid_in, home, self._homes.session_id(key))
                self._budget.partial[key] = paid + await asyncio.to_thread(judged_in, self._folder, key)
        starting = asyncio.create_task(self._lent.sandbox.status())  # beside the first case's imports
        looking = asyncio.create_task(self._queue.look_for_verdicts())
        try:
            async with asyncio.TaskGroup() as group:
                # The first case runs alone: it makes the decoders, and two threads that make the same one crash.
                await group.create_task(self._worker(alone=True))
                for _ in range(min(max(jobs, 1), max(len(left), 1))):
                    group.create_task(self._worker())
        except* AlitaError as errors:
            raise errors.exceptions[0] from None
        finally:
            looking.cancel()
            await asyncio.wait((starting, looking, *self._homes.unfinished()))
            await self._lent.sandbox.close()

    async def _worker(self, *, alone: bool = False) -> None:
        budget = self._budget
        while chosen := await self._queue.take():
            case, key = chosen
            cap, is_own_cap = await self._cap_of(case, key)
            if cap <= 0 and not is_own_cap:
                return
            budget.held[key] = cap
            budget.partial.pop(key, None)
            try:
                await self._homes.prepared(key)
                result, state = await self._runner.run(case, key, cap, self._prepare_next)
            finally:
                del budget.held[key]
                self._queue.release(key)
            if not is_own_cap and result.outcome == "budget" or state == "spent":
                # The run's budget was too small.
                budget.partial[key] = result.usd + result.judge_usd
                return
            if state == "ended":
                self._keep(result)
            else:
                budget.partial[key] = result.usd
                await self._queue.park(case, key)
            if alone:
                return

    async def _cap_of(self, case: Case, key: Key) -> tuple[float, bool]:
        """Return a case's cap in US dollars (0: that of the settings), and whether the run's budget leaves it whole."""
        if not self._budget.cap_usd:
            return case.budget_usd, True
        return await self._budget.cap_for(key, case.budget_usd or self._app.loaded.settings.budget.task_usd)

    def _prepare_next(self) -> None:
        """Begin to make the home of the next case; called while an agent waits for its model."""
        if left := self._queue.keys:
            self._homes.prepare(left[0])

    def _keep(self, result: CaseResult) -> None:
        """Write a result to disk before it counts. Raises StoreError."""
        append_result(self._folder, result)
        self.done[result.key] = result
        self._report(result, len(self.done), self._total)
