"""One run: send a container its job, pass on output and requests, return the report."""

from __future__ import annotations

import asyncio
import codecs
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from alita_tui.events import RunReport
from alita_tui.sandbox.broker.streams import FRAMES, Violation
from alita_tui.sandbox.call_files import LeftFiles
from alita_tui.sandbox.container import Container
from alita_tui.sandbox.memory_watch import beyond
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.sandbox.report import run_report
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.grants import repeatable
from alita_tui.spine.ports.sandbox import Job, OnOutput
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker, RunBroker

_FLUSH_SECONDS = 1 / 30
"""Live output of a stream is passed on at most this often."""
_GRACE_SECONDS = 5.0
"""How long after its own wall limit a container may take to report before it is killed."""


async def converse(
    container: Container, job: Job, on_output: OnOutput, broker: Broker | None = None
) -> RunReport:
    """Send the job, pass on its output and its requests, and return the report.

    Code without an approved digest is granted nothing; only a draft's tests get what a person granted them by name.
    Raise SandboxUnavailable where the job may run on another engine, EngineLost where it may not, and StoreError
    where a request of the tool could not be recorded.
    """
    output = _Output(on_output, LeftFiles(job.outputs, job.limits.scratch_bytes))
    may_be_granted = job.kind == "test" or (job.kind == "run" and job.digest)
    if job.scratch is not None and job.kind in ("test", "judge"):
        from alita_tui.sandbox.broker.broker import tests_broker

        broker, may_be_granted = broker or tests_broker(), True
    granting_broker = broker if may_be_granted and not job.capabilities.none else None
    run: RunBroker | None = None
    try:
        async with asyncio.timeout(job.limits.wall_seconds + _GRACE_SECONDS) as wall_limit:

            def extend(seconds: float) -> None:
                wall_limit.reschedule((wall_limit.when() or 0.0) + seconds)

            try:
                if granting_broker is not None:
                    run = await granting_broker.open(job, container.channel.send, extend)
                    run.connections.broken = lambda: (
                        None if wall_limit.expired() else wall_limit.reschedule(0)
                    )
                await container.give(job, run.settings if run else b"")
            except ConnectionError as error:
                if container.job_sent and granting_broker is not None and not repeatable(job.capabilities):
                    raise EngineLost(
                        "The container was lost while it was given its job, so nobody knows whether the tool "
                        "began. It is not run again by itself, as it may change something."
                    ) from error
                raise SandboxUnavailable("The container was gone before it had its job.") from error
            report = await _within_memory(container, job, output, run)
    except TimeoutError:
        reason = "The container did not answer in time."
        report = RunReport(status="timeout", error=reason, limits_hit=("wall",), **output.texts())
    finally:
        if run is not None:
            await run.close()
        output.end()
    if run is not None and run.connections.failure is not None:
        raise run.connections.failure
    return report


async def _within_memory(container: Container, job: Job, output: _Output, run: RunBroker | None) -> RunReport:
    """Return the report; end a container that holds far more memory than the warden should have allowed."""
    if not container.pid:
        return await _listen(container, job, output, run)
    bytes_held = 0

    async def end_beyond() -> None:
        nonlocal bytes_held
        bytes_held = await beyond(container.pid, job.limits)
        await container.end()

    watching = asyncio.create_task(end_beyond())
    try:
        report = await _listen(container, job, output, run)
        if bytes_held or watching.done():
            await watching
    finally:
        watching.cancel()
    if not bytes_held:
        return report
    error = f"Its container held {bytes_held >> 20} MB, and was ended from outside."
    return RunReport(
        status="limit",
        error=error,
        limits_hit=("memory",),
        peak_memory_bytes=bytes_held,
        **output.texts(),
    )


async def _listen(container: Container, job: Job, output: _Output, run: RunBroker | None) -> RunReport:
    while (frame := await container.channel.receive()) is not None:
        kind, payload = frame
        if kind == b"D":
            output.end()
            report = run_report(payload, job, output.texts())
            return replace(
                report, files=tuple(output.left_files.files), files_lost=one_line(output.left_files.lost, 300)
            )
        if kind in (b"O", b"E"):
            output.take(kind, payload)
        elif kind == b"P":
            output.left_files.take(payload)
        elif kind in FRAMES and run is not None:
            try:
                run.connections.take(kind, payload)
            except Violation as error:  # a report, as a run that began is never repeated
                return RunReport(status="killed", error=str(error), **output.texts())
    stderr = container.channel.stderr.decode("utf-8", "replace").strip()[-300:]
    reason = f"The container ended without a report. {stderr}".strip()
    return RunReport(status="killed", error=reason, **output.texts())


class _Output:
    """Both output streams of a run, and the files that it left."""

    def __init__(self, on_output: OnOutput, left_files: LeftFiles) -> None:
        self.left_files = left_files
        self._streams = {b"O": _Stream("stdout", on_output), b"E": _Stream("stderr", on_output)}

    def take(self, kind: bytes, piece: bytes) -> None:
        self._streams[kind].take(piece)

    def end(self) -> None:
        for stream in self._streams.values():
            stream.end()
        self.left_files.end()

    def texts(self) -> dict[str, Any]:
        """Return what was printed so far, by the names of a report's fields."""
        return {stream.name: "".join(stream.pieces) for stream in self._streams.values()}


class _Stream:
    """One output stream: decoded piece by piece, passed on at intervals, recorded in full up to the warden's cap."""

    def __init__(self, name: Literal["stdout", "stderr"], on_output: OnOutput) -> None:
        self.name = name
        self.pieces: list[str] = []
        self._on_output = on_output
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._passed_on = 0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, piece: bytes, *, final: bool = False) -> None:
        text = self._decode(piece, final)
        if text:
            self.pieces.append(text)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._flush)

    def end(self) -> None:
        """Pass on what is left at once."""
        self.take(b"", final=True)
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        new, self._passed_on = "".join(self.pieces[self._passed_on :]), len(self.pieces)
        if new:
            self._on_output(self.name, new)
