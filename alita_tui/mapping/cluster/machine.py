"""A machine of a cluster: its scheduler, or one of its workers."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from distributed import Scheduler, Worker
from distributed.utils import get_ip

from alita_tui.mapping.cluster import entry
from alita_tui.mapping.cluster.authority import Credentials
from alita_tui.mapping.cluster.wire import PORT, harden, keep_only
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.text import one_line

Say = Callable[[str], None]


class Answers(Protocol):
    """What a worker needs of alita."""

    async def prepare(self) -> None:
        """Make ready. Raise SandboxUnavailable."""

    async def answer(self, text: object) -> str:
        """Return the answer to an order; never raise."""

    async def close(self) -> None:
        """End what runs."""


_SCHEDULER = frozenset(
    {"identity", "connection_stream", "register-client", "register-worker", "unregister", "heartbeat_worker", "ncores", "gather"}
)
_SCHEDULER_STREAMS = frozenset(
    {
        "task-finished", "task-erred", "release-worker-data", "add-keys", "long-running", "reschedule", "keep-alive",
        "worker-status-change", "request-refresh-who-has",
        "update-graph", "client-desires-keys", "client-releases-keys", "heartbeat-client", "close-client",
    }
)
_WORKER = frozenset({"identity", "connection_stream", "get_data", "ping", "terminate"})
_WORKER_STREAMS = frozenset(
    {"close", "compute-task", "free-keys", "remove-replicas", "worker-status-change", "remove-worker"}
)
"""All that batches need of Dask; whatever else it could be asked for is not there."""


class _Scheduler(Scheduler):
    """A scheduler without a web server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


class _Worker(Worker):
    """A worker without a web server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


async def schedule(where: str, credentials: Credentials, say: Say) -> None:
    """Be the scheduler at an address until a signal ends it. Raise UsageError."""
    host, port = address(where if "://" in where else f"tls://{where}")
    security = harden(credentials)
    try:
        scheduler = _Scheduler(
            host=f"tls://{_bracketed(own(host))}", port=port, protocol="tls://", security=security, dashboard=False,
            extensions={},
        )
        keep_only(scheduler, _SCHEDULER, _SCHEDULER_STREAMS)
        await scheduler
    except OSError as error:
        raise UsageError(f"{where} cannot be listened at: {error.strerror or error}.") from error
    try:
        say(f"The scheduler listens at {scheduler.address}")
        await _ended(scheduler)
    finally:
        await scheduler.close()


async def work(
    where: str, credentials: Credentials, bind: str, lanes: int, answers: Answers, say: Say
) -> None:
    """Be a worker of a scheduler until a signal or the scheduler ends it. Raise UsageError, SandboxUnavailable."""
    host, port = address(where)
    security = harden(credentials)
    entry.install(answers.answer)
    await answers.prepare()
    try:
        with tempfile.TemporaryDirectory(prefix="alita-worker-") as scratch:
            worker = _Worker(
                f"tls://{_bracketed(host)}:{port}", nthreads=lanes, host=f"tls://{_bracketed(own(bind or get_ip(host, port)))}",
                protocol="tls://", security=security, dashboard=False, extensions={}, memory_limit=0, local_directory=scratch,
            )
            keep_only(worker, _WORKER, _WORKER_STREAMS)
            try:
                await worker
            except (OSError, RuntimeError) as error:
                raise SandboxUnavailable(
                    f"No scheduler lets this worker in at {where}: {one_line(str(error), 200)}.",
                    hint="Does it run, and are the certificates of both from one authority?",
                ) from error
            try:
                say(f"Working for {where} at {worker.address}, {lanes} rows at a time")
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
    waiting = [asyncio.ensure_future(one) for one in (signalled.wait(), server.finished())]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def address(text: str) -> tuple[str, int]:
    """Return host and port of a cluster's address. Raise UsageError."""
    try:
        read = urlsplit(text)
        host, port = read.hostname or "", read.port or PORT
    except ValueError:
        host = ""
    if not host or read.scheme != "tls" or read.path or read.query or read.username:
        raise UsageError(
            f"{one_line(text, 80)} is no address of a cluster.",
            hint="Write tls://HOST:PORT; nothing goes without TLS.",
        )
    return host, port


def own(host: str) -> str:
    """Return an address to listen at. Raise UsageError for one that means every network."""
    try:
        every = ip_address(host).is_unspecified
    except ValueError:
        every = host in ("", "*")
    if every:
        raise UsageError(
            f"{host or 'Nothing'} is no single address of this machine.", hint="Name the one of the cluster's network."
        )
    return host


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
