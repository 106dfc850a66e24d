"""Runs a machine of a cluster: the scheduler, or a worker."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable
from typing import Any, Protocol

from distributed import Scheduler, Worker
from distributed.utils import get_ip

from alita_tui.mapping.cluster import entry
from alita_tui.mapping.cluster.addresses import Address
from alita_tui.mapping.cluster.authority import Credentials
from alita_tui.mapping.cluster.wire import harden, keep_only
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.text import one_line

Say = Callable[[str], None]


class Answers(Protocol):
    """Answers the orders that a worker receives."""

    async def prepare(self) -> None:
        """Prepare for orders. Raises SandboxUnavailable."""

    async def answer(self, text: object) -> str:
        """Return the answer to an order; never raises."""

    async def close(self) -> None:
        """End what runs."""


_SCHEDULER = frozenset(
    {
        "identity",
        "connection_stream",
        "register-client",
        "register-worker",
        "unregister",
        "heartbeat_worker",
        "ncores",
        "gather",
    }
)
_SCHEDULER_STREAMS = frozenset(
    {
        "task-finished",
        "task-erred",
        "release-worker-data",
        "add-keys",
        "long-running",
        "reschedule",
        "keep-alive",
        "worker-status-change",
        "request-refresh-who-has",
        "update-graph",
        "client-desires-keys",
        "client-releases-keys",
        "heartbeat-client",
        "close-client",
    }
)
_WORKER = frozenset({"identity", "connection_stream", "get_data", "ping", "terminate"})
_WORKER_STREAMS = frozenset(
    {"close", "compute-task", "free-keys", "remove-replicas", "worker-status-change", "remove-worker"}
)
"""The operations of Dask that batches need; all others are removed."""


class _Scheduler(Scheduler):  # type: ignore[misc]  # an extra has no types here
    """A scheduler without a web server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


class _Worker(Worker):  # type: ignore[misc]  # an extra has no types here
    """A worker without a web server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


async def schedule(address: Address, credentials: Credentials, say: Say) -> None:
    """Run the scheduler at an address until a signal ends it. Raises UsageError."""
    security = harden(credentials)
    try:
        scheduler = _Scheduler(
            host=address.bind,
            port=address.port,
            protocol="tls://",
            security=security,
            dashboard=False,
            extensions={},
        )
        keep_only(scheduler, _SCHEDULER, _SCHEDULER_STREAMS)
        await scheduler
    except (OSError, RuntimeError) as error:
        cause = error.__cause__ or error
        raise UsageError(f"{address} cannot be listened at: {one_line(str(cause), 200)}.") from error
    try:
        say(f"The scheduler listens at {scheduler.address}")
        await _ended(scheduler)
    finally:
        await scheduler.close()


async def work(
    scheduler: Address, credentials: Credentials, bind: str, lanes: int, answers: Answers, say: Say
) -> None:
    """Run a worker of a scheduler until a signal or the scheduler ends it. Raises UsageError, SandboxUnavailable."""
    own_address = Address(bind or get_ip(scheduler.host, scheduler.port), 0)
    security = harden(credentials)
    entry.install(answers.answer)
    try:
        await answers.prepare()
        with tempfile.TemporaryDirectory(prefix="alita-worker-") as scratch:
            worker = _Worker(
                str(scheduler), nthreads=lanes, host=own_address.bind, protocol="tls://", security=security,
                dashboard=False, extensions={}, memory_limit=0, local_directory=scratch,
            )  # fmt: skip
            keep_only(worker, _WORKER, _WORKER_STREAMS)
            try:
                await worker
            except (OSError, RuntimeError) as error:
                reason = one_line(str(error.__cause__ or error), 200)
                raise SandboxUnavailable(
                    f"No scheduler lets this worker in at {scheduler}: {reason}.",
                    hint="Does it run, and are the certificates of both from one authority?",
                ) from error
            try:
                say(f"Working for {scheduler} at {worker.address}, {lanes} rows at a time")
                await _ended(worker)
            finally:
                await worker.close()
    finally:
        await answers.close()


async def _ended(server: Any) -> None:
    """Wait for a signal, or for the server's own end."""
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, signalled.set)
    waiting = [asyncio.ensure_future(ending) for ending in (signalled.wait(), server.finished())]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for ending in waiting:
            ending.cancel()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
