"""The report on a run, from the warden's measurements and the answer of the process with the job."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from alita_tui.events import LimitHit, RunReport, TestCase, ready
from alita_tui.sandbox.channel import parse
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.text import one_line

Status = Literal["ok", "error", "exit", "timeout", "limit", "killed", "bad_result"]


class Measured(msgspec.Struct):
    """What the warden measured."""

    exit_code: int | None
    signal: int | None
    limits_hit: list[LimitHit]
    truncated: list[Literal["stdout", "stderr"]]
    duration_ms: float
    cpu_ms: float
    peak_memory_bytes: int
    answer: str

    @property
    def end(self) -> str:
        """Return how the process ended, in words."""
        return f"signal {self.signal}" if self.signal else f"exit code {self.exit_code}"


class _Answer(msgspec.Struct):
    """The answer of the process with the job. It may be the tool's, so it is untrusted."""

    error: str = ""
    exception: str = ""
    limit: Literal["memory", "files"] | None = None
    unsupported: str = ""
    result: Any = msgspec.UNSET
    cases: tuple[TestCase, ...] | msgspec.UnsetType = msgspec.UNSET


def run_report(payload: bytes, job: Job, texts: dict[str, Any]) -> RunReport:
    """Return the report on a run from the warden's last frame. Raise SandboxUnavailable where it cannot be read."""
    try:
        measured = msgspec.convert(parse(payload), ready(Measured))
    except ValueError as invalid:
        raise SandboxUnavailable(f"The warden's report cannot be read: {invalid}") from invalid
    answer, problem = _read(measured.answer)
    limits_hit = tuple(measured.limits_hit)
    if answer.limit is not None and answer.limit not in limits_hit:
        limits_hit += (answer.limit,)
    status, error = _judge(measured, answer, problem, limits_hit, job)
    return RunReport(
        status=status,
        exit_code=measured.exit_code,
        signal=measured.signal,
        exception=one_line(answer.exception, 80),
        result=answer.result if status == "ok" and answer.result is not msgspec.UNSET else None,
        error=error,
        truncated=tuple(measured.truncated),
        limits_hit=limits_hit,
        duration_ms=measured.duration_ms,
        cpu_ms=measured.cpu_ms,
        peak_memory_bytes=measured.peak_memory_bytes,
        cases=answer.cases or (),
        **texts,
    )


def _read(answer: str) -> tuple[_Answer, str]:
    """Return the answer, and why it cannot be read."""
    if not answer:
        return _Answer(), ""
    try:
        return msgspec.convert(parse(answer), ready(_Answer)), ""
    except msgspec.ValidationError as error:
        return _Answer(), f"What it answered is not what an answer has to be: {error}"
    except ValueError as error:
        return _Answer(), f"The result is no JSON that can be read: {error}"


def _judge(
    measured: Measured, answer: _Answer, problem: str, limits_hit: tuple[LimitHit, ...], job: Job
) -> tuple[Status, str]:
    """Return status and error. A bad exit after an answer counts as well: an honest process exits normally."""
    error = answer.error or answer.unsupported or problem
    if job.kind == "script":
        answered = measured.exit_code == 0 and not error
    else:
        answered = (answer.cases if job.kind == "test" else answer.result) is not msgspec.UNSET
    ended_well = measured.signal is None and (
        measured.exit_code == 0 or (bool(answer.error) and measured.exit_code == 1)
    )
    if "wall" in limits_hit:
        return "timeout", f"It ran longer than {job.limits.wall_seconds:g} s and was ended."
    if limits_hit:
        return "limit", error or f"It was ended at its limit: {', '.join(limits_hit)}."
    if problem:
        return "bad_result", error
    if error and ended_well:
        return "error", error
    if answered and ended_well:
        return "ok", ""
    if error:
        return "exit", f"It ended with {measured.end}, having said: {error}"
    if job.kind == "script":
        return "exit", f"It ended with {measured.end}."
    if answered:
        return "exit", f"It answered, and then ended with {measured.end}."
    return "exit", f"It ended without a result ({measured.end})."
