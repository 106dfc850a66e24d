"""Runs of suites: each case in a home of its own, a line on disk for each that ended, taken up again after a kill."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from alita_tui.app.context import AppContext
from alita_tui.app.eval_begin import planned
from alita_tui.app.eval_checks import judge, start_check
from alita_tui.app.eval_costs import RESULTS, Key, home_of, judge_of, judged_in, paid_in, place_of
from alita_tui.app.eval_judge import judging
from alita_tui.app.eval_runs import locked, results_of
from alita_tui.app.eval_session import answer_of, case_home, failure_of, play, result_of, settle
from alita_tui.app.eval_waiting import (
    Wait,
    held_elsewhere,
    may_go_on,
    pending_in,
    settle_for_console,
    stamps_of,
)
from alita_tui.app.lending import Lent
from alita_tui.evaluation.checks import Exact, Judged, Rubric
from alita_tui.evaluation.failures import not_found, question_at
from alita_tui.evaluation.results import CaseResult, Setup
from alita_tui.evaluation.suite import Case, Suite, read_suite
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, BudgetExceeded, ConfigError, StoreLocked, UsageError
from alita_tui.spine.text import one_line
from alita_tui.store import disk

Told = Callable[[CaseResult, int, int], object]
"""Told of each case that ended, how many have, and how many there are."""
Waits = Callable[[Wait], object]
"""Told of each case that begins to wait for the person."""

State = Literal["ended", "waits", "spent"]
"""Of a case: it has its result, it waits for a person, or the run's budget is too small for its judge."""

_LEAST_USD = 1e-6
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_LOOK_SECONDS = 0.5
"""After which it is looked again whether the person decided."""
_INFERRED = ("gap misjudged", "misread task")
"""Kinds of failure that are inferred from the record instead: whether the tool was found."""


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


def _fills(error: BaseException | None) -> bool:
    """Return whether something could not be written because the disk has no room, or takes nothing."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


class _RunSpent(Exception):
    """What is left of the run's budget is too little for the judge."""


class _Work:
    """A run in progress."""

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
        self._app, self._setup, self._folder, self._suite, self._report = app, setup, folder, suite, report
        self._tell_wait, self._stay = waits, stay
        self._waiting: dict[Key, tuple[Case, Wait]] = {}
        self._told: set[str] = set()
        """What the person was told of as waiting."""
        everything = planned(setup, suite)
        self._total = len(everything)
        self.done = {result.key: result for result in results_of(folder)}
        self._left = [
            (case, model, turn) for case, model, turn in everything if (case.id, model, turn) not in self.done
        ]
        self._held: dict[Key, float] = {}
        """What the cases under way may cost at most."""
        self._partial: dict[Key, float] = {}
        """What was paid for cases that have not ended: they wait, were killed, or the budget was too small."""
        self._freed = asyncio.Event()
        self._judging = asyncio.Lock()
        self._busy: set[str] = set()
        """Homes in which a case runs, or waits for a person."""
        self._settling: dict[Key, asyncio.Task[None]] = {}
        """Homes that are made while the cases before them run."""
        self._lent = Lent(app.sandbox(setup.run, pool=True), app.spend_book(setup.run))
        """To start an engine and its containers takes longer than most tasks; and a day's cap is the person's."""

    async def do(self, jobs: int) -> None:
        """Run the remaining cases, up to the budget."""
        for case, model, turn in self._left:
            key = case.id, model, turn
            if self._home(key).exists():
                self._partial[key] = await asyncio.to_thread(paid_in, self._home(key), self._named(key))
                self._partial[key] += await asyncio.to_thread(judged_in, self._folder, key)
        starting = asyncio.create_task(self._lent.sandbox.status())  # beside the first case's imports
        looking = asyncio.create_task(self._look_for_verdicts())
        try:
            async with asyncio.TaskGroup() as group:
                # The first case goes alone: decoders are made then, and two threads that make the same one crash.
                await group.create_task(self._worker(alone=True))
                for _ in range(min(max(jobs, 1), max(len(self._left), 1))):
                    group.create_task(self._worker())
        except* AlitaError as errors:
            raise errors.exceptions[0] from None
        finally:
            looking.cancel()
            await asyncio.wait((starting, looking, *self._settling.values()))
            await self._lent.sandbox.close()

    async def _worker(self, *, alone: bool = False) -> None:
        while chosen := await self._next():
            case, key = chosen
            cap, whole = await self._reserved(case, key)
            if cap <= 0 and not whole:
                return
            self._held[key] = cap
            self._partial.pop(key, None)
            try:
                await self._settled(key)
                result, state = await self._run_case(case, key, cap)
            finally:
                del self._held[key]
                self._busy.discard(home_of(key, stream=self._suite.stream))
                self._freed.set()
            if not whole and result.outcome == "budget" or state == "spent":  # the run's budget was too small
                self._partial[key] = result.usd + result.judge_usd
                return
            if state == "ended":
                self._keep(result)
            else:
                self._partial[key] = result.usd
                self._busy.add(home_of(key, stream=self._suite.stream))  # what follows in a stream waits, too
                await self._wait_for_person(case, key)
            if alone:
                return

    async def _next(self) -> tuple[Case, Key] | None:
        """Take the next case whose home is free; None if none is left or will be."""
        while True:
            for place, (case, model, turn) in enumerate(self._left):
                home = home_of(key := (case.id, model, turn), stream=self._suite.stream)
                if home not in self._busy:
                    del self._left[place]
                    self._busy.add(home)
                    return case, key
            if not (self._held and (self._left or self._waiting)) and not await self._stays():
                return None
            self._freed.clear()
            await self._freed.wait()

    async def _stays(self) -> bool:
        """Return whether a case is waited for although nothing else is left to do."""
        for _, wait in tuple(self._waiting.values()):
            if self._stay or await asyncio.to_thread(held_elsewhere, wait.home, wait.named):
                return True
        return False

    async def _wait_for_person(self, case: Case, key: Key) -> None:
        """Keep a case until the person decided, and tell them once."""
        wait = await asyncio.to_thread(self._wait_of, key)
        self._waiting[key] = case, wait
        if new := {wait.asks} - self._told - {""}:
            self._told |= new
            self._tell_wait(wait)

    def _wait_of(self, key: Key) -> Wait:
        home, named = self._home(key), self._named(key)
        stamps = stamps_of(home, named)
        pending, console = pending_in(home, named), held_elsewhere(home, named)
        builds = tuple(build for build in pending if not build.verdict)
        settle_for_console(self._app, home)
        done = len(builds) < len(pending) or not (builds or console)  # decided, or closed, just now
        return Wait(
            key=key, home=home, named=named, builds=builds, stamps=() if done else stamps, console=console
        )

    async def _look_for_verdicts(self) -> None:
        """Take up again each case whose person has decided, or has closed its session."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for key, (case, wait) in tuple(self._waiting.items()):
                if await asyncio.to_thread(may_go_on, wait):
                    del self._waiting[key]
                    self._left.insert(0, (case, key[1], key[2]))
                    self._busy.discard(home_of(key, stream=self._suite.stream))
            self._freed.set()  # a console may have been closed, too

    def _home(self, key: Key) -> Path:
        return place_of(self._folder, key, stream=self._suite.stream)[0]

    def _named(self, key: Key) -> str:
        """Return the id of a case's session in a stream; elsewhere its home has no other."""
        return place_of(self._folder, key, stream=self._suite.stream)[1]

    async def _settled(self, key: Key) -> None:
        """Wait for the home of a case, if it is being made."""
        if mine := self._settling.pop(key, None):
            with suppress(AlitaError):  # the case itself meets it
                await mine

    def _settle_next(self) -> None:
        """Begin to make the home of the next case, while an agent waits for its model."""
        if not self._left:
            return
        case, model, turn = self._left[0]
        folder = self._home(following := (case.id, model, turn))
        if following not in self._settling and not folder.exists():
            making = asyncio.to_thread(settle, self._app, folder)
            self._settling[following] = asyncio.create_task(making)

    async def _reserved(self, case: Case, key: Key) -> tuple[float, bool]:
        """Return what a case may cost, and whether that is all that it may; 0 and True: as the settings say.

        Waits for cases under way, where they may leave more.
        """
        own = case.budget_usd or self._app.loaded.settings.budget.task_usd
        if not self._setup.budget_usd:
            return case.budget_usd, True
        while True:
            left = self._left_for(key)
            if own and left >= own:
                return own, True
            if not self._held:
                return (left if left > _LEAST_USD else 0.0), False
            self._freed.clear()
            await self._freed.wait()

    def _left_for(self, key: Key) -> float:
        """Return what the run's budget leaves for a case, with what it has cost so far."""
        spent = sum(result.usd + result.judge_usd for result in self.done.values())
        spent += sum(usd for name, usd in self._partial.items() if name != key)
        return self._setup.budget_usd - spent - sum(usd for name, usd in self._held.items() if name != key)

    async def _run_case(self, case: Case, key: Key, cap: float) -> tuple[CaseResult, State]:
        """Do one case; return its result, and what became of it."""
        began = time.perf_counter()
        setup, (_, model, turn) = self._setup, key
        result = CaseResult(
            case=case.id, model=model, turn=turn, home=home_of(key, stream=self._suite.stream)
        )
        app = checker = None
        try:
            app = await asyncio.to_thread(
                case_home, self._app, self._folder / result.home, None if setup.configured else model, cap,
                setup.without, policy=setup.approve == "policy", lent=self._lent, described=self._suite.described,
            )  # fmt: skip
            files = tuple(str(self._suite.file(file)) for file in case.files)
            checker = await asyncio.to_thread(start_check, case.check)
            played = time.perf_counter()
            session_id, history = await play(
                app, case.task, files, setup.approved_digests, named=self._named(key), begun=self._settle_next
            )
            ended = time.perf_counter()
            figures = result_of(case.id, model, turn, history)
            result = replace(figures, session_id=session_id, home=result.home)
            if setup.approve == "person" and result.outcome == "parked":
                if await asyncio.to_thread(pending_in, self._home(key), session_id):
                    return result, "waits"
            answer = answer_of(history)
            try:
                judged = await judge(
                    app,
                    self._suite,
                    case.check,
                    answer,
                    history,
                    partial(self._by_rubric, result, case.task, answer),
                    checker,
                )
            finally:
                result = replace(result, judge_usd=judged_in(self._folder, key))
            result = replace(result, solved=judged.solved, why=judged.why)
            if not judged.solved:
                result = self._failed(result, case, history)
            took = (time.perf_counter() - began - (ended - played)) * 1000
            return replace(result, overhead_ms=round(took, 3)), "ended"
        except ConfigError:
            raise  # no case can be done
        except _RunSpent:
            return await self._counted(result), "spent"
        except StoreLocked as error:
            if await asyncio.to_thread(held_elsewhere, self._home(key), self._named(key)):
                return await self._counted(result), "waits"
            return await self._harness(result, error), "ended"
        except AlitaError as error:
            if _fills(error.__cause__):
                raise  # that says nothing of the case: it is gone on with
            return await self._harness(result, error), "ended"
        except Exception as error:  # the other cases have nothing to do with it
            if isinstance(error, OSError) and _fills(error):
                raise disk.store_error("written", self._folder, error) from error
            error_text = f"unexpected: {type(error).__name__}: {one_line(str(error), 400)}"
            return replace(await self._counted(result), failure="harness", why=error_text), "ended"
        finally:
            if checker is not None:
                checker.end()
            if app is not None:
                app.close()

    def _failed(self, result: CaseResult, case: Case, history: Sequence[Envelope]) -> CaseResult:
        """Return a result with why it was not solved."""
        kind, at = failure_of(history)
        if isinstance(case.check, Exact) and case.check.text in dict(self._suite.described):
            kind, at = not_found(history, case.check.text) if kind in _INFERRED else (kind, at)
        why = question_at(history, at) if kind == "question" else result.why
        return replace(result, failure=kind, at=at, why=why)

    async def _harness(self, result: CaseResult, error: AlitaError) -> CaseResult:
        return replace(await self._counted(result), failure="harness", why=str(one_line(str(error), 500)))

    async def _by_rubric(self, result: CaseResult, task: str, answer: str, check: Rubric) -> Judged:
        """Ask the judge, one answer at a time: a rubric's labelled examples are judged once.

        It may cost what the run has left. Raises _RunSpent where that is too little.
        """
        async with self._judging:
            left = None
            if self._setup.budget_usd:
                left = self._left_for(result.key) - result.usd - judged_in(self._folder, result.key)
                if left <= _LEAST_USD:
                    raise _RunSpent
                self._held[result.key] = self._left_for(result.key)  # no other case gets it meanwhile
            try:
                async with judging(self._app, self._folder, judge_of(result.key), left) as judge:
                    return await judge.judged(self._suite, check, task, answer)
            except BudgetExceeded as error:
                if left is None:
                    raise
                raise _RunSpent from error

    async def _counted(self, result: CaseResult) -> CaseResult:
        """Return a result that has at least what its sessions paid."""
        if result.usd:
            return result
        with suppress(AlitaError, OSError):
            return replace(
                result, usd=await asyncio.to_thread(paid_in, self._home(result.key), self._named(result.key))
            )
        return result

    def _keep(self, result: CaseResult) -> None:
        """Write a result to disk, whole, before it counts. Raises StoreError."""
        path = self._folder / RESULTS
        line = msgspec.json.encode(result) + b"\n"
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    line = b"\n" + line  # a kill cut the last line off
                disk.write_all(handle, line, size)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise disk.store_error("written", path, error) from error
        self.done[result.key] = result
        self._report(result, len(self.done), self._total)
