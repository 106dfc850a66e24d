"""The coordinator's side: sends each batch to a worker with a free lane."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any
from uuid import uuid4

from distributed import Client, Future
from distributed.versions import VersionMismatchWarning

from alita_tui.mapping.cluster.addresses import Address
from alita_tui.mapping.cluster.authority import Credentials
from alita_tui.mapping.cluster.entry import batch
from alita_tui.mapping.cluster.orders import Answer, BadAnswer, Order, encoded, ordered, read_answer
from alita_tui.mapping.cluster.wire import harden
from alita_tui.mapping.coordinator import Lost
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import InputFile, Row
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.text import one_line

_POLL_SECONDS = 1.0
"""Seconds between requests for the list of workers."""
_SCHEDULER_SECONDS = 30.0
"""Seconds after which a scheduler that does not answer counts as gone."""
_ANSWER_SECONDS = 1800.0
"""Seconds after which a worker that does not answer is no longer used; its first batch may install packages."""
_PATIENCE_SECONDS = 60.0
"""Seconds that a map waits for a worker if there is none."""


@asynccontextmanager
async def connected(
    address: Address, machine_credentials: Credentials, tool: str, inputs: InputFile
) -> AsyncIterator[ClusterEngine]:
    """Connect to a scheduler for one map. Raises SandboxUnavailable."""
    security = harden(machine_credentials)
    # The extra pins Dask itself, and other packages may differ: nothing but JSON travels.
    warnings.simplefilter("ignore", VersionMismatchWarning)
    client = Client(
        str(address), asynchronous=True, security=security, timeout=10, set_as_default=False, name="alita"
    )
    for message in (
        "event",
        "restart",
        "error",
    ):  # nothing that a scheduler could have printed or thrown here
        client._stream_handlers[message] = _ignore
    try:
        await client
    except (OSError, TimeoutError) as error:
        raise SandboxUnavailable(
            f"No scheduler lets this machine in at {address}: {one_line(str(error), 200)}.",
            hint="Does `alita worker --scheduler` run there, and are the certificates of both from one authority?",
        ) from error
    engine = ClusterEngine(client, address, tool, inputs)
    await engine.take_stock()
    looking = asyncio.create_task(engine.look())
    try:
        yield engine
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        with suppress(TimeoutError):
            await client.close(timeout=5)


class _Worker:
    """What the coordinator knows about a worker."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.running = 0
        self.gone = asyncio.Event()
        self.refused = ""


class ClusterEngine:
    """An engine that uses the workers of a scheduler. It chooses the worker of each batch itself, not Dask."""

    def __init__(self, client: Client, address: Address, tool: str, inputs: InputFile) -> None:
        self._client = client
        self._where = address
        self._tool = tool
        self._given = inputs
        self._job = uuid4().hex
        self._orders = count()
        self._workers: dict[str, _Worker] = {}
        self._changed = asyncio.Condition()
        self._ended = ""

    @property
    def lanes(self) -> int:
        """The number of batches that the workers run at once; at least 1, so that one waits for the first worker."""
        return max(1, sum(worker.threads for worker in self._workers.values() if not worker.refused))

    async def look(self) -> None:
        """Keep the list of workers current, until this is cancelled or the scheduler is gone."""
        try:
            while not self._ended:
                await asyncio.sleep(_POLL_SECONDS)
                await self.take_stock()
        finally:  # nothing may wait any longer for a connection that nobody serves
            self._ended = self._ended or f"The scheduler at {self._where} is gone."
            await self._know({})

    async def take_stock(self) -> None:
        """Update the list of workers."""
        await self._know(await self._there())

    async def _know(self, lanes_by_worker: Mapping[str, int]) -> None:
        async with self._changed:
            for name in set(self._workers) - set(lanes_by_worker):
                self._workers.pop(name).gone.set()
            for name in set(lanes_by_worker) - set(self._workers):
                self._workers[name] = _Worker(lanes_by_worker[name])
            self._changed.notify_all()

    async def _there(self) -> dict[str, int]:
        """Return the number of lanes of each worker; empty if the scheduler is gone."""
        try:
            async with asyncio.timeout(_SCHEDULER_SECONDS):
                lanes_by_worker: dict[str, int] = await self._client.nthreads()
                return lanes_by_worker
        except Exception:  # noqa: BLE001  # a client that is closing has many
            self._ended = f"The scheduler at {self._where} is gone."
            return {}

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Run rows, in one or more orders. Raises Lost, SandboxUnavailable, UsageError."""
        outcomes: list[Outcome] = []
        while len(outcomes) < len(rows):
            outcomes += await self._some(rows[len(outcomes) :])
        return outcomes

    async def _some(self, rows: Sequence[Row]) -> tuple[Outcome, ...]:
        """Run the first of these rows, as many as fit into an order. Raises Lost, SandboxUnavailable, UsageError."""
        try:
            order = await asyncio.to_thread(ordered, self._tool, self._given, rows)
        except OSError as error:
            raise UsageError(f"{self._given.path} cannot be read: {error.strerror}.") from error
        while True:
            name, worker = await self._free()
            try:
                answer = await self._asked(name, worker, order, rows[: order.rows])
            finally:
                worker.running -= 1
                async with self._changed:
                    self._changed.notify_all()
            if answer.lost:
                raise Lost(answer.lost)
            if not answer.refused:
                return answer.outcomes
            worker.refused = answer.refused

    async def _free(self) -> tuple[str, _Worker]:
        """Return a worker with a free lane for a batch. Raises SandboxUnavailable if no worker can run it."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS) as patience, self._changed:
                while True:
                    able = {name: worker for name, worker in self._workers.items() if not worker.refused}
                    if self._ended or (self._workers and not able):
                        raise SandboxUnavailable(
                            self._ended or self._refusals(), hint="Run the same command to continue."
                        )
                    free = [
                        (worker.running / worker.threads, name)
                        for name, worker in able.items()
                        if worker.running < worker.threads
                    ]
                    if free:
                        name = min(free)[1]
                        able[name].running += 1
                        return name, able[name]
                    if able:
                        patience.reschedule(None)
                    elif patience.when() is None:  # those that it waited for are gone
                        patience.reschedule(asyncio.get_running_loop().time() + _PATIENCE_SECONDS)
                    await self._changed.wait()
        except TimeoutError:
            raise SandboxUnavailable(
                f"No worker came to {self._where}.", hint="Start some: alita worker ADDRESS --data FOLDER"
            ) from None

    def _refusals(self) -> str:
        refusals = Counter(worker.refused for worker in self._workers.values())
        return "No worker can run it. " + " | ".join(reason for reason, _ in refusals.most_common(3))

    async def _asked(self, name: str, worker: _Worker, order: Order, rows: Sequence[Row]) -> Answer:
        """Return a worker's answer; an invalid answer counts as a refusal. Raises Lost."""
        future = self._client.submit(
            batch, encoded(order), key=f"alita-{self._job}-{next(self._orders)}", pure=False, retries=0,
            workers=[name], allow_other_workers=False,
        )  # fmt: skip
        answered = asyncio.ensure_future(_result(future))
        worker_gone = asyncio.ensure_future(worker.gone.wait())
        try:
            await asyncio.wait(
                (answered, worker_gone), timeout=_ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if not answered.done():
                worker.refused = "It does not answer."
                raise Lost(f"the worker {name} went away")
            try:
                return read_answer(answered.result(), rows)
            except BadAnswer as error:
                return Answer(refused=error.message)
            except (
                Exception,
                asyncio.CancelledError,
            ) as error:  # any error of a worker or the scheduler
                if name not in await self._there():
                    raise Lost(f"the worker {name} went away") from error
                return Answer(refused=one_line(f"{type(error).__name__}: {error}", 500))
        finally:
            answered.cancel()
            worker_gone.cancel()
            future.release()


def _ignore(**_: object) -> None:
    """Do nothing."""


async def _result(future: Future[Any]) -> object:
    return await future
