"""Runs a map: reads rows, sends batches to an engine, journals the outcomes. It alone decides about failures."""

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
from alita_tui.spine.cancellation import finish
from alita_tui.spine.errors import RegistryError, RequirementsError, SandboxUnavailable

_FIRST_BATCH, _LARGEST_BATCH = 8, 1000
"""Number of rows in the first batches, and in the largest."""
_SECONDS = 5.0
"""Seconds that a batch should take, which a kill would lose."""
_TRIES = 3
"""How often a row is run if the engine is lost while it runs."""


class Lost(Exception):
    """The engine was lost while it ran a batch; it is unknown which of the rows ran."""


class Engine(Protocol):
    """Runs rows."""

    @property
    def lanes(self) -> int:
        """The number of batches that it runs at the same time."""

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Run rows one after the other, each once; a failed row has an outcome too. Raises Lost, SandboxUnavailable.

        SandboxUnavailable, RegistryError and RequirementsError mean that not even the first row began. An empty result
        means that these rows are not done; the next run of the map gives them to the engine again.
        """


class Progress(Value, frozen=True):
    """The progress of a map."""

    done: int
    """Number of rows with a result, including those of earlier runs."""
    failed: int
    per_second: float
    """Rows per second in this run."""


async def run_map(
    rows: Iterable[Row],
    engine: Engine,
    journal: Journal,
    tell: Callable[[Progress], None],
    *,
    most: int = _LARGEST_BATCH,
) -> None:
    """Run all rows that are not in the journal.

    After a loss or a kill a row may be run again; if rows run at most once (`Head.once`), it counts as failed instead.
    `most` is the largest number of rows in a batch. Raises SandboxUnavailable, StoreError, OSError; rows that are done
    stay in the journal.
    """
    map_run = _MapRun(engine, journal, tell, most)
    feed = map_run.batches(iter(rows))
    running: set[asyncio.Task[None]] = set()
    finished_tasks: set[asyncio.Task[None]] = set()
    try:
        while True:
            while len(running) < engine.lanes and (batch := await asyncio.to_thread(next, feed, None)):
                running.add(asyncio.create_task(map_run.batch(batch)))
            if not running:
                return
            finished_tasks, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in finished_tasks:
                task.result()
    finally:
        for task in running:
            task.cancel()
        await finish(asyncio.gather(*running, *finished_tasks, return_exceptions=True))


class _MapRun:
    """One run of a map."""

    def __init__(
        self, engine: Engine, journal: Journal, tell: Callable[[Progress], None], largest: int
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._tell = tell
        self._most = largest
        self._size = min(_FIRST_BATCH, largest)
        self._began = monotonic()
        parts = journal.parts.values()
        self._ok, self._failed = sum(part.ok for part in parts), sum(part.failed for part in parts)
        self._before = self._ok + self._failed

    def batches(self, rows: Iterator[Row]) -> Iterator[list[Row]]:
        """Yield the rows that are not done, in batches of consecutive rows.

        The last batches become smaller and smaller, so that no lane waits long for another.
        """
        remaining = self._remaining(rows)
        ahead: deque[Row] = deque()
        while True:
            ahead.extend(islice(remaining, max(self._engine.lanes * self._size - len(ahead), 0)))
            if not ahead:
                return
            size = min(self._size, -(-len(ahead) // (2 * self._engine.lanes)))
            batch = [ahead.popleft()]
            while len(batch) < size and ahead[0].number == batch[-1].number + 1:
                batch.append(ahead.popleft())
            yield batch

    def _remaining(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows that are not done."""
        done_ranges = iter(self._journal.done())
        first, last = next(done_ranges, (0, 0))
        for row in rows:
            while first and row.number > last:
                first, last = next(done_ranges, (0, 0))
            if not first or row.number < first:
                yield row

    async def batch(self, rows: list[Row]) -> None:
        """Run a batch and store its outcomes."""
        began = monotonic()
        at_most_once = self._journal.head.once
        outcomes, batch_file = (
            await self._each_once(rows) if at_most_once else (await self._run(rows, 1), None)
        )
        seconds = max(monotonic() - began, 0.001)
        self._size = max(1, min(self._most, 2 * self._size, int(len(rows) * _SECONDS / seconds)))
        if not outcomes:
            return
        try:
            await finish(asyncio.to_thread(self._journal.keep, outcomes, batch_file))
        finally:
            if batch_file is not None:
                batch_file.close()
        failed = sum(bool(outcome.reason) for outcome in outcomes)
        self._failed += failed
        self._ok += len(outcomes) - failed
        rate = (self._ok + self._failed - self._before) / max(monotonic() - self._began, 0.001)
        self._tell(Progress(done=self._ok, failed=self._failed, per_second=rate))

    async def _each_once(self, rows: Sequence[Row]) -> tuple[list[Outcome], BeganFile]:
        """Run the rows that never began, one by one, each recorded on disk before it begins.

        If this is cancelled, it waits for the running row, so that its outcome is known.
        """
        batch_file = self._journal.begins(rows[0].number)
        outcomes: list[Outcome] = []
        try:
            for row in rows:
                if row.problem:
                    outcomes.append(Outcome(row=row.number, reason=row.problem))
                elif (earlier := self._journal.known(row.number)) is not None:
                    outcomes.append(replace(earlier, arguments=row.arguments if earlier.reason else None))
                else:
                    outcome = await finish(self._once(row, batch_file))
                    if outcome is None:
                        break
                    outcomes.append(outcome)
        except BaseException:
            batch_file.close()
            raise
        if not outcomes:
            batch_file.close()
        return outcomes, batch_file

    async def _once(self, row: Row, batch_file: BeganFile) -> Outcome | None:
        """Run a row and record its outcome; return None if the engine did not run it. Raises SandboxUnavailable."""
        await asyncio.to_thread(batch_file.begin, row.number)
        try:
            ran = await self._engine.run([row])
        except Lost as error:
            reason = f"It may have run: the sandbox was lost while it did ({error}), and the tool may change something."
            ran = [Outcome(row=row.number, reason=reason, arguments=row.arguments, unsure=True)]
        except (SandboxUnavailable, RegistryError, RequirementsError):
            await asyncio.to_thread(batch_file.take_back, row.number)
            raise
        if not ran:
            await asyncio.to_thread(batch_file.take_back, row.number)
            return None
        await asyncio.to_thread(batch_file.end, ran[0])
        return ran[0]

    async def _run(self, rows: list[Row], tries: int) -> list[Outcome]:
        """Run rows; if the engine is lost, run each half separately, so that one bad row does not fail others."""
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
