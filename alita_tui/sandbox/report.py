"""A job's conversation with the warden, and the report that comes of it."""

from __future__ import annotations

import asyncio
import codecs
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from alita_tui.sandbox.broker.streams import FRAMES, Violation
from alita_tui.sandbox.channel import parse
from alita_tui.sandbox.container import Container
from alita_tui.sandbox.outlook import beyond
from alita_tui.sandbox.podman_http import EngineLost
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.grants import repeatable
from alita_tui.spine.ports import Job, OnOutput
from alita_tui.spine.text import one_line
from alita_tui.spine.values import LimitHit, RunReport, TestCase

if TYPE_CHECKING:
    from alita_tui.sandbox.broker.broker import Broker, RunBroker

_TELL_SECONDS = 1 / 30
"""Live output is handed on at most this often for each stream."""
_GRACE_SECONDS = 5.0
"""How long after its own wall limit a container may take to report before it is killed."""


async def converse(
    container: Container, job: Job, on_output: OnOutput, broker: Broker | None = None
) -> RunReport:
    """Give the job, pass on what it prints and asks for, return the report.

    Nothing is granted to code without the digest of an approval, but to a draft's tests what a person
    granted them by name. Raises SandboxUnavailable where it may be run on another engine, EngineLost where not, and
    StoreError where a request of the tool could not be recorded.
    """
    streams = {b"O": _Stream("stdout", on_output), b"E": _Stream("stderr", on_output)}
    asked_for = job.what == "test" or (job.what == "run" and job.digest)
    granted = broker if asked_for and not job.capabilities.none else None
    run: RunBroker | None = None
    try:
        async with asyncio.timeout(job.limits.wall_seconds + _GRACE_SECONDS) as limit:

            def extend(seconds: float) -> None:
                limit.reschedule((limit.when() or 0.0) + seconds)

            try:
                if granted is not None:
                    run = await granted.open(job, container.channel.send, extend)
                    run.connections.broken = lambda: None if limit.expired() else limit.reschedule(0)
                await container.give(job, run.settings if run else b"")
            except ConnectionError as error:
                if container.given and granted is not None and not repeatable(job.capabilities):
                    raise EngineLost(
                        "The container was lost while it was given its job, so nobody knows whether the tool "
                        "began. It is not run again by itself, as it may change something."
                    ) from error
                raise SandboxUnavailable("The container was gone before it had its job.") from error
            report = await _within_memory(container, job, streams, run)
    except TimeoutError:
        report = RunReport(
            status="timeout",
            error="The container did not answer in time.",
            limits_hit=("wall",),
            **_texts(streams),
        )
    finally:
        if run is not None:
            await run.connections.close()
        for stream in streams.values():
            stream.end()
    if run is not None and run.connections.failure is not None:
        raise run.connections.failure
    return report


async def _within_memory(
    container: Container, job: Job, streams: dict[bytes, _Stream], run: RunBroker | None
) -> RunReport:
    """The report, or the end of a container that holds far more than the warden should have let it."""
    listening = asyncio.ensure_future(_listen(container, job, streams, run))
    looking = asyncio.ensure_future(beyond(container.pid, job.limits)) if container.pid else None
    both = [one for one in (listening, looking) if one is not None]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if listening.done() or looking is None:
            return await listening
        held = looking.result()
        await container.end()
        return RunReport(
            status="limit",
            error=f"Its container held {held >> 20} MB, and was ended from outside.",
            limits_hit=("memory",),
            peak_memory_bytes=held,
            **_texts(streams),
        )
    finally:
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _listen(
    container: Container, job: Job, streams: dict[bytes, _Stream], run: RunBroker | None
) -> RunReport:
    while True:
        said = await container.channel.receive()
        if said is None:
            words = container.channel.stray.decode("utf-8", "replace").strip()[-300:]
            reason = f"The container ended without a report. {words}".strip()
            return RunReport(status="killed", error=reason, **_texts(streams))
        kind, payload = said
        if kind == b"D":
            for stream in streams.values():
                stream.end()
            return run_report(payload, job, _texts(streams))
        if kind in streams:
            streams[kind].take(payload)
        elif kind in FRAMES and run is not None:
            try:
                run.connections.take(kind, payload)
            except Violation as error:  # a report, as a run that began is never repeated
                return RunReport(status="killed", error=str(error), **_texts(streams))


class _Stream:
    """One output stream: decoded piece by piece, kept whole up to its cap."""

    def __init__(self, name: Literal["stdout", "stderr"], tell: OnOutput) -> None:
        self._name = name
        self._tell = tell
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.text: list[str] = []
        self._untold = 0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, piece: bytes, *, final: bool = False) -> None:
        text = self._decode(piece, final)
        if text:
            self.text.append(text)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_TELL_SECONDS, self._flush)

    def end(self) -> None:
        """Say what is left, at once; nothing is said afterwards."""
        self.take(b"", final=True)
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        new, self._untold = "".join(self.text[self._untold :]), len(self.text)
        if new:
            self._tell(self._name, new)


def _texts(streams: dict[bytes, _Stream]) -> dict[str, Any]:
    return {"stdout": "".join(streams[b"O"].text), "stderr": "".join(streams[b"E"].text)}


class _Measured(msgspec.Struct):
    """What the warden measured."""

    exit_code: int | None
    signal: int | None
    limits_hit: list[LimitHit]
    truncated: list[Literal["stdout", "stderr"]]
    duration_ms: float
    cpu_ms: float
    peak_memory_bytes: int
    answer: str


class _Case(msgspec.Struct):
    name: str
    passed: bool
    message: str = ""
    duration_ms: float = 0.0
    calls: int | None = None


class _Answer(msgspec.Struct):
    """What the process that had the job said. It may be the tool's, and is whatever that wants to say."""

    error: str = ""
    exception: str = ""
    limit: Literal["memory", "files"] | None = None
    unsupported: str = ""
    result: Any = msgspec.UNSET
    cases: list[_Case] | msgspec.UnsetType = msgspec.UNSET


def _answer(raw: str) -> tuple[_Answer, str]:
    """The answer, and why there is none that can be read."""
    if not raw:
        return _Answer(), ""
    try:
        return msgspec.convert(parse(raw), _Answer), ""
    except msgspec.ValidationError as why:
        return _Answer(), f"What it answered is not what an answer has to be: {why}"
    except ValueError as why:
        return _Answer(), f"The result is no JSON that can be read: {why}"


def run_report(payload: bytes, job: Job, texts: dict[str, Any]) -> RunReport:
    """Return what the warden measured and the child answered as one report. Raise SandboxUnavailable."""
    try:
        seen = msgspec.convert(parse(payload), _Measured)
    except ValueError as why:
        raise SandboxUnavailable(f"The warden's report cannot be read: {why}") from why
    answer, problem = _answer(seen.answer)
    hits = list(seen.limits_hit)
    error = answer.error or answer.unsupported or problem
    if answer.limit is not None and answer.limit not in hits:
        hits.append(answer.limit)
    cases = tuple(
        TestCase(
            name=case.name,
            passed=case.passed,
            message=case.message,
            duration_ms=case.duration_ms,
            calls=case.calls,
        )
        for case in answer.cases or ()
    )
    done = (answer.cases if job.what == "test" else answer.result) is not msgspec.UNSET
    if job.what == "script":
        done = seen.exit_code == 0 and not error
    # What comes after an answer counts as well: whoever has answered ends at once and with the code for it.
    orderly = seen.signal is None and (seen.exit_code == 0 or (bool(answer.error) and seen.exit_code == 1))
    status: Literal["ok", "error", "exit", "timeout", "limit", "killed", "bad_result"]
    if "wall" in hits:
        status = "timeout"
        error = f"It ran longer than {job.limits.wall_seconds:g} s and was ended."
    elif hits:
        status = "limit"
        error = error or f"It was ended at its limit: {', '.join(hits)}."
    elif problem:
        status = "bad_result"
    elif error and orderly:
        status = "error"
    elif done and orderly:
        status = "ok"
    else:
        status = "exit"
        how = f"signal {seen.signal}" if seen.signal else f"exit code {seen.exit_code}"
        if error:
            error = f"It ended with {how}, having said: {error}"
        elif job.what == "script":
            error = f"It ended with {how}."
        else:
            error = (
                f"It answered, and then ended with {how}." if done else f"It ended without a result ({how})."
            )
    return RunReport(
        status=status,
        exit_code=seen.exit_code,
        signal=seen.signal,
        exception=one_line(answer.exception, 80),
        result=answer.result if status == "ok" and answer.result is not msgspec.UNSET else None,
        error=error,
        truncated=tuple(seen.truncated),
        limits_hit=tuple(hits),
        duration_ms=seen.duration_ms,
        cpu_ms=seen.cpu_ms,
        peak_memory_bytes=seen.peak_memory_bytes,
        cases=cases,
        **texts,
    )
