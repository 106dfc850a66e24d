"""Runs of suites: each case in a home of its own, a line on disk for each that ended, taken up again after a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from alita_tui.app.context import AppContext
from alita_tui.app.eval_begin import planned
from alita_tui.app.eval_budget import RunBudget
from alita_tui.app.eval_case import CaseRunner
from alita_tui.app.eval_costs import Key, judged_in, paid_in
from alita_tui.app.eval_homes import CaseHomes
from alita_tui.app.eval_queue import CaseQueue, Waits
from alita_tui.app.eval_runs import append_result, locked, results_of
from alita_tui.app.lending import Lent
from alita_tui.evaluation.results import CaseResult, Setup
from alita_tui.evaluation.suite import Case, Suite, read_suite
from alita_tui.spine.errors import AlitaError, UsageError

Told = Callable[[CaseResult, int, int], object]
"""Told of each case that ended, how many have, and how many there are."""


async def go_on(
    app: AppContext,
    setup: Setup,
    folder: Path,
    jobs: int,
    report: Told,
    waits: Waits = lambda wait: None,
    *,
    stay: bool = False,
) -> tuple[CaseResult, ...]:
    """Run the remaining cases, `jobs` at a time; return the results of all that ended.

    A case that waits for a person goes on once they decided. With `stay` the run waits for that also when nothing else
    is left to do; it always waits for a case whose session is open in a console. Raises UsageError if the suite has
    changed, StoreLocked where another process runs it.
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
        report: Told,
        waits: Waits,
        *,
        stay: bool,
    ) -> None:
        self._app, self._folder, self._report = app, folder, report
        everything = planned(setup, suite)
        self._total = len(everything)
        self.done = {result.key: result for result in results_of(folder)}
        left = [
            (case, model, turn) for case, model, turn in everything if (case.id, model, turn) not in self.done
        ]
        freed = asyncio.Event()
        self._budget = RunBudget(setup.budget_usd, self.done, freed)
        self._homes = CaseHomes(app, folder, stream=suite.stream)
        self._queue = CaseQueue(
            app, self._homes, left, self._budget.held, freed, waits, stream=suite.stream, stay=stay
        )
        self._lent = Lent(app.sandbox(setup.run, pool=True), app.spend_book(setup.run))
        """To start an engine and its containers takes longer than most tasks; and a day's cap is the person's."""
        self._runner = CaseRunner(app, setup, folder, suite, self._homes, self._budget, self._lent)

    async def do(self, jobs: int) -> None:
        """Run the remaining cases, up to the budget."""
        left = self._queue.keys
        for key in left:
            if (home := self._homes.home(key)).exists():
                paid = await asyncio.to_thread(paid_in, home, self._homes.named(key))
                self._budget.partial[key] = paid + await asyncio.to_thread(judged_in, self._folder, key)
        starting = asyncio.create_task(self._lent.sandbox.status())  # beside the first case's imports
        looking = asyncio.create_task(self._queue.look_for_verdicts())
        try:
            async with asyncio.TaskGroup() as group:
                # The first case goes alone: decoders are made then, and two threads that make the same one crash.
                await group.create_task(self._worker(alone=True))
                for _ in range(min(max(jobs, 1), max(len(left), 1))):
                    group.create_task(self._worker())
        except* AlitaError as errors:
            raise errors.exceptions[0] from None
        finally:
            looking.cancel()
            await asyncio.wait((starting, looking, *self._homes.unsettled()))
            await self._lent.sandbox.close()

    async def _worker(self, *, alone: bool = False) -> None:
        budget = self._budget
        while chosen := await self._queue.take():
            case, key = chosen
            cap, whole = await self._cap_of(case, key)
            if cap <= 0 and not whole:
                return
            budget.held[key] = cap
            budget.partial.pop(key, None)
            try:
                await self._homes.settled(key)
                result, state = await self._runner.run(case, key, cap, self._settle_next)
            finally:
                del budget.held[key]
                self._queue.release(key)
            if not whole and result.outcome == "budget" or state == "spent":  # the run's budget was too small
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
        """Return what a case may cost, and whether that is all that it may; 0 and True: as the settings say."""
        if not self._budget.cap_usd:
            return case.budget_usd, True
        return await self._budget.reserved(case.budget_usd or self._app.loaded.settings.budget.task_usd, key)

    def _settle_next(self) -> None:
        """Begin to make the home of the next case, while an agent waits for its model."""
        if left := self._queue.keys:
            self._homes.settle(left[0])

    def _keep(self, result: CaseResult) -> None:
        """Write a result to disk before it counts. Raises StoreError."""
        append_result(self._folder, result)
        self.done[result.key] = result
        self._report(result, len(self.done), self._total)
