"""Runs a map: reads rows, sends batches to an engine, journals the outcomes. All rules about failures are here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Protocol

from msgspec.structs import replace

from alita_tui.events import Value
from alita_tui.mapping.begun import BeganFile
from alita_tui.mapping.journal import Journal
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import Row
from alita_tui.spine.errors import RegistryError, RequirementsError, SandboxUnavailable
from alita_tui.spine.finishing import finished

_FIRST, _MOST = 8, 1000
"""Rows of the first batches, and of the largest."""
_SECONDS = 5.0
"""How long a batch should take: as much is lost by a kill."""
_TRIES = 3
"""How often a row is run whose engine is lost while it runs."""


class Lost(Exception):
    """The engine was lost while it ran a batch; it is unknown which of its rows ran."""


class Engine(Protocol):
    """Where rows run."""

    @property
    def lanes(self) -> int:
        """Return how many batches it runs at the same time."""

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Run rows one after the other, each once; a row that fails is an outcome. Raise Lost, SandboxUnavailable.

        SandboxUnavailable, RegistryError and RequirementsError mean that the first of them did not begin. An empty
        result means that these rows are not done; they are given to it again in the next run.
        """


class Progress(Value, frozen=True):
    """How far a map is."""

    done: int
    """Rows with a result, those of earlier runs among them."""
    failed: int
    per_second: float
    """Rows of this run."""


async def run_map(
    rows: Iterable[Row],
    engine: Engine,
    journal: Journal,
    tell: Callable[[Progress], None],
    *,
    most: int = _MOST,
) -> None:
    """Run all rows that the journal does not have.

    After a loss or a kill a row may be run again; where rows run at most once (`Head.once`), it has failed instead.

    `most` is how many rows a batch has at most. Raise SandboxUnavailable, StoreError, OSError; what is done stays.
    """
    course = _Course(engine, journal, tell, most)
    feed = course.batches(iter(rows))
    running: set[asyncio.Task[None]] = set()
    done: set[asyncio.Task[None]] = set()
    try:
        while True:
            while len(running) < engine.lanes and (batch := await asyncio.to_thread(next, feed, None)):
                running.add(asyncio.create_task(course.batch(batch)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in running:
            task.cancel()
        await finished(asyncio.gather(*running, *done, return_exceptions=True))


class _Course:
    """One run of a map."""

    def __init__(self, engine: Engine, journal: Journal, tell: Callable[[Progress], None], most: int) -> None:
        self._engine = engine
        self._journal = journal
        self._tell = tell
        self._most = most
        self._size = min(_FIRST, most)
        self._began = monotonic()
        parts = journal.parts.values()
        self._ok, self._failed = sum(part.ok for part in parts), sum(part.failed for part in parts)
        self._before = self._ok + self._failed

    def batches(self, rows: Iterator[Row]) -> Iterator[list[Row]]:
        """Yield the rows that are not done in batches; none of these goes over rows that are.

        The last rows go out in ever smaller batches, so that no lane waits for another's long one.
        """
        left = self._left(rows)
        ahead: deque[Row] = deque()
        while True:
            ahead.extend(islice(left, max(self._engine.lanes * self._size - len(ahead), 0)))
            if not ahead:
                return
            size = min(self._size, -(-len(ahead) // (2 * self._engine.lanes)))
            batch = [ahead.popleft()]
            while len(batch) < size and ahead[0].number == batch[-1].number + 1:
                batch.append(ahead.popleft())
            yield batch

    def _left(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows that are not done."""
        done = iter(self._journal.done())
        first, last = next(done, (0, 0))
        for row in rows:
            while first and row.number > last:
                first, last = next(done, (0, 0))
            if not first or row.number < first:
                yield row

    async def batch(self, rows: list[Row]) -> None:
        """Run a batch and store its outcomes."""
        began = monotonic()
        once = self._journal.head.once
        outcomes, begun = await self._each_once(rows) if once else (await self._run(rows, 1), None)
        taken = max(monotonic() - began, 0.001)
        self._size = max(1, min(self._most, 2 * self._size, int(len(rows) * _SECONDS / taken)))
        if not outcomes:
            return
        try:
            await finished(asyncio.to_thread(self._journal.keep, outcomes, begun))
        finally:
            if begun is not None:
                begun.close()
        failed = sum(bool(outcome.reason) for outcome in outcomes)
        self._failed += failed
        self._ok += len(outcomes) - failed
        rate = (self._ok + self._failed - self._before) / max(monotonic() - self._began, 0.001)
        self._tell(Progress(done=self._ok, failed=self._failed, per_second=rate))

    async def _each_once(self, rows: Sequence[Row]) -> tuple[list[Outcome], BeganFile]:
        """Run the rows that never began, one by one, each on disk before it begins.

        Where this is cancelled, the row that runs is waited for, so that its outcome is known.
        """
        begun = self._journal.begins(rows[0].number)
        outcomes: list[Outcome] = []
        try:
            for row in rows:
                if row.problem:
                    outcomes.append(Outcome(row=row.number, reason=row.problem))
                elif (known := self._journal.known(row.number)) is not None:
                    outcomes.append(replace(known, arguments=row.arguments if known.reason else None))
                else:
                    came = await finished(self._once(row, begun))
                    if came is None:
                        break
                    outcomes.append(came)
        except BaseException:
            begun.close()
            raise
        if not outcomes:
            begun.close()
        return outcomes, begun

    async def _once(self, row: Row, begun: BeganFile) -> Outcome | None:
        """Run a row and record its outcome; return None if the engine did not run it. Raise SandboxUnavailable."""
        await asyncio.to_thread(begun.begin, row.number)
        try:
            ran = await self._engine.run([row])
        except Lost as error:
            reason = f"It may have run: the sandbox was lost while it did ({error}), and the tool may change something."
            ran = [Outcome(row=row.number, reason=reason, arguments=row.arguments, unsure=True)]
        except (SandboxUnavailable, RegistryError, RequirementsError):
            await asyncio.to_thread(begun.take_back, row.number)
            raise
        if not ran:
            await asyncio.to_thread(begun.take_back, row.number)
            return None
        await asyncio.to_thread(begun.end, ran[0])
        return ran[0]

    async def _run(self, rows: list[Row], tries: int) -> list[Outcome]:
        """Run rows; where the engine is lost, run halves of them, so that one bad row costs its neighbours nothing."""
        unusable = {row.number: Outcome(row=row.number, reason=row.problem) for row in rows if row.problem}
        usable = [row for row in rows if not row.problem]
        try:
            ran = {outcome.row: outcome for outcome in await self._engine.run(usable)} if usable else {}
        except Lost as error:
            if len(usable) > 1:
                half = len(usable) // 2
                halves = [*await self._run(usable[:half], 1), *await self._run(usable[half:], 1)]
                ran = {outcome.row: outcome for outcome in halves}
            elif tries < _TRIES:
                ran = {outcome.row: outcome for outcome in await self._run(usable, tries + 1)}
            else:
                reason = f"The sandbox was lost {_TRIES} times while it ran: {error}"
                lost = usable[0]
                ran = {lost.number: Outcome(row=lost.number, reason=reason, arguments=lost.arguments)}
        if usable and not ran:
            return []
        return [unusable.get(row.number) or ran[row.number] for row in rows]
