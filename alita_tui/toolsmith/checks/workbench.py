"""Runs drafts in the sandbox for the checks: calls and tests, under conditions, several in one container."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from alita_tui.events import (
    Json,
    RunReport,
    ToolDraft,
    ready,
)
from alita_tui.runtimes.file_parameters import local_files
from alita_tui.runtimes.languages import runtime_of
from alita_tui.runtimes.places import Instrumented
from alita_tui.runtimes.scratch_files import granted
from alita_tui.spine.errors import NotAllowedHere, RequirementsError
from alita_tui.spine.judge_plan import Conditions, Piece, Plan
from alita_tui.spine.ports.sandbox import Job, Limits, Sandbox
from alita_tui.spine.refusals import last_message
from alita_tui.spine.syntax import UNPARSABLE
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun
from alita_tui.toolsmith.checks.judge_report import Called, Tested, Watched
from alita_tui.toolsmith.checks.runner import more_time

Result = TypeVar("Result")


class Shared(Generic[Result]):
    """The result for the last key. The work is cancelled when no caller waits for it any more."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Result] | None = None
        self._key: object = None
        self._waiting = 0

    async def get(self, key: object, make: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of `make`, which is called only if the key has changed; raise what it raises."""
        if self._task is None or self._key != key or self._task.cancelled():
            self._task, self._key, self._waiting = asyncio.ensure_future(make()), key, 0
        task = self._task
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            if task is self._task:
                self._waiting -= 1
            if task is not self._task or (not self._waiting and not task.done()):
                task.cancel()
                await asyncio.wait((task,))  # so that its last records come before anything that follows


_AT_ONCE = 3
"""Containers at a time; more would only compete for the processors."""
_PLAIN = Conditions()
_WATCHED_SECONDS = 12.0
_SLOWER = 2.0
"""Factor on the time of a draft with packages, which every new process has to import."""


_WITH_BROWSER = 4.0
"""Factor on the time of each call and test of a draft with a browser, which every call starts anew."""


class Unsupported(CouldNotRun):
    """The sandbox does not have this time zone or locale."""


class Workbench:
    """Runs drafts in the sandbox under the draft profile: nothing is granted, one container per plan."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._more_time = more_time(limits)
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._watched: Shared[Watched] = Shared()

    async def outputs(
        self,
        case: Case,
        calls: Sequence[Json],
        *,
        fresh: bool = False,
        seconds: float = 2.0,
        total: float = 12.0,
    ) -> list[dict[str, Any]]:
        """Return the results of `run` for these keyword arguments, for as many as there is time (see `Called.answers`).

        With `fresh` each call gets a process of its own; otherwise they follow each other in one. `seconds` limits
        each call, `total` all of them. Raises CouldNotRun.
        """
        piece = piece_of_calls(case, calls, fresh=fresh, seconds=seconds)
        return self.answers((await self.judge(case, [piece], total=total))[0], len(calls))

    async def judge(
        self,
        case: Case,
        pieces: Sequence[Piece],
        *,
        total: float = 12.0,
        files: Mapping[str, bytes] | None = None,
    ) -> list[Tested | Called]:
        """Run several pieces in one container; return an entry for each that there was time for.

        A draft that asks for the workspace finds these files there, or those that its tests write out. Raises
        CouldNotRun, and Unsupported for conditions that the sandbox does not have.
        """
        total *= self._more_time * (_SLOWER if case.lock.packages else 1)
        each = self._more_time * (_WITH_BROWSER if case.draft.capabilities.browser else 1)
        pieces = [replace(piece, seconds=piece.seconds * each) for piece in pieces]
        if local := local_files(case.draft, files):
            pieces = [replace(piece, files=local) if piece.kind == "calls" else piece for piece in pieces]
        longest = max((piece.seconds for piece in pieces), default=0.0)
        job = Job(
            run_id=case.build_id,
            module=case.draft.name,
            code=case.draft.code,
            language=case.draft.language,
            parameters=tuple(runtime_of(case.draft.language).parameters(case.draft)),
            kind="judge",
            plan=Plan(pieces=tuple(pieces), total=total),
            lock=case.lock,
            limits=self._bounds(total + longest + 4),
            **granted(case.draft, files),
        )
        try:
            async with self._room:
                report = await self._sandbox.run(job, lambda *_: None, lambda *_: None)
        except (RequirementsError, NotAllowedHere) as error:
            raise CouldNotRun(f"{case.draft.name} cannot run here: {error.message}") from error
        entries = _read(report, pieces)
        for entry in entries:
            if entry.unsupported:
                raise Unsupported(entry.unsupported)
        if not entries and pieces:
            raise CouldNotRun("there was no time for it")
        return entries

    async def watched(self, case: Case) -> Watched:
        """Return an observed run of the draft's tests, made once for all checks that need it. Raises CouldNotRun."""
        return await self._watched.get(case, lambda: self._watch(case))

    async def used(self, case: Case) -> list[dict[str, Json]]:
        """Return the arguments with which the draft's tests call `run`; none if they could not be observed."""
        try:
            calls = (await self.watched(case)).tested.calls
        except CouldNotRun:
            return []
        names = runtime_of(case.draft.language).parameters(case.draft)
        return [{**dict(zip(names, call.given, strict=False)), **call.named} for call in calls]

    async def watched_calls(
        self, case: Case, calls: Sequence[Json], files: Mapping[str, bytes] | None = None
    ) -> Called:
        """Call the draft's `run`, each time in a new process; return answers and the places reached."""
        instrumented_code, _ = await asyncio.to_thread(_instrumented, case.draft)
        piece = piece_of_calls(case, calls, code=instrumented_code.code, fresh=True, watch=True)
        entry = (await self.judge(case, [piece], files=files))[0]
        if not isinstance(entry, Called):
            raise CouldNotRun("the judge answered otherwise than it was asked")
        return entry

    async def _watch(self, case: Case) -> Watched:
        instrumented_code, problem = await asyncio.to_thread(_instrumented, case.draft)
        piece = piece_of_tests(case, code=instrumented_code.code, seconds=_WATCHED_SECONDS, watch=True)
        entry = (await self.judge(case, [piece], total=_WATCHED_SECONDS))[0]
        if not isinstance(entry, Tested) or entry.error or entry.late:
            raise CouldNotRun("the tests did not come to an end while they were watched")
        return Watched(tested=entry, places=instrumented_code.places, problem=problem)

    @staticmethod
    def answers(entry: Tested | Called, count: int) -> list[dict[str, Any]]:
        """Return the answers of a piece with `count` calls; one error for all if the code cannot be imported."""
        if isinstance(entry, Tested):
            raise CouldNotRun("the judge answered otherwise than it was asked")
        if entry.error:
            text = entry.error.strip().splitlines()[-1][:500]
            return [{"error": entry.exception or "ended", "text": text, "ms": 0.0}] * count
        return entry.answers

    def _bounds(self, wall: float) -> Limits:
        return replace(self._limits, wall_seconds=wall, cpu_seconds=wall, result_bytes=8 * 1024 * 1024)


def _instrumented(draft: ToolDraft) -> tuple[Instrumented, str]:
    """Return the instrumented code and an empty string; if that fails, the unchanged code and the reason."""
    try:
        return runtime_of(draft.language).instrumented(draft.code), ""
    except UNPARSABLE as error:
        return Instrumented(draft.code, ()), f"the code cannot be written anew: {one_line(str(error), 200)}"


def piece_of_calls(
    case: Case,
    calls: Sequence[Json],
    *,
    code: str | None = None,
    fresh: bool = False,
    conditions: Conditions = _PLAIN,
    seconds: float = 2.0,
    watch: bool = False,
    ladders: Sequence[int] = (),
    enough_ms: float = 0.0,
) -> Piece:
    """Return a piece of work: calls of `run`, in the draft's code or another version; `ladders` as in `Piece`."""
    return Piece(
        kind="calls",
        name=case.draft.name,
        code=case.draft.code if code is None else code,
        calls=tuple(calls),
        fresh=fresh,
        conditions=conditions,
        seconds=seconds,
        watch=watch,
        ladders=tuple(ladders),
        enough_ms=enough_ms,
    )


def piece_of_tests(
    case: Case,
    *,
    code: str | None = None,
    conditions: Conditions = _PLAIN,
    seconds: float = 3.0,
    watch: bool = False,
    stop: bool = False,
) -> Piece:
    """Return a piece of work: the draft's tests against its code or another version of it."""
    return Piece(
        kind="tests",
        name=case.draft.name,
        code=case.draft.code if code is None else code,
        tests=case.draft.tests,
        conditions=conditions,
        seconds=seconds,
        watch=watch,
        stop=stop,
    )


def _read(report: RunReport, pieces: Sequence[Piece]) -> list[Tested | Called]:
    """Return the judge's entries. Raises CouldNotRun if there are none to read."""
    if report.status != "ok" or not isinstance(report.result, list):
        why = f": {one_line(last_message(report), 300)}" if report.error.strip() else ""
        raise CouldNotRun(f"its run in the sandbox ended with {report.reason or 'no answer'}{why}")
    try:
        return [
            msgspec.convert(entry, ready(Tested))
            if piece.kind == "tests"
            else msgspec.convert(entry, ready(Called))
            for piece, entry in zip(pieces, report.result, strict=False)
        ]
    except msgspec.ValidationError as error:
        raise CouldNotRun(f"the judge's answer cannot be read: {error}") from error
