"""What a gate is given, and how it says what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports import Job, Limits, Sandbox
from alita_tui.spine.text import one_line
from alita_tui.spine.values import (
    GateName,
    GateResult,
    GateRow,
    Json,
    Lock,
    RunReport,
    ToolDraft,
    Value,
)


class Case(Value, frozen=True):
    """A draft that passed its own tests."""

    build_id: str
    draft: ToolDraft
    lock: Lock = Lock()
    task: str = ""
    """What the person asked for, in their words."""
    goal: str = ""
    parent: ToolDraft | None = None
    """The version that this one would replace."""


class Gate(Protocol):
    """Looks at one thing."""

    name: GateName

    async def check(self, case: Case) -> GateResult:
        """What it found. Raises CouldNotRun with the reason where it could not look."""


class CouldNotRun(AlitaError):
    """A gate could not look, or not far enough, which is no pass."""

    def __init__(self, message: str, rows: Sequence[GateRow] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)
        """What it saw until then."""


def passed(gate: GateName, summary: str, rows: Sequence[GateRow] = ()) -> GateResult:
    """Nothing speaks against the draft here."""
    return GateResult(gate=gate, state="passed", summary=one_line(summary, 300), rows=tuple(rows))


def failed(gate: GateName, summary: str, rows: Sequence[GateRow] = ()) -> GateResult:
    """Something does."""
    return GateResult(gate=gate, state="failed", summary=one_line(summary, 300), rows=tuple(rows))


def shown(value: Json, most: int = 120) -> str:
    """A JSON value on one line, cut."""
    import msgspec

    return one_line(msgspec.json.encode(value).decode(), most)


_AT_ONCE = 3
"""Runs of the harness; more would only wait for each other's processors."""


class Workbench:
    """Runs the harness in the sandbox, under the draft profile: nothing is granted, one container a run."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def work(
        self, what: str, case: Case, *, pieces: Sequence[Json] = (), seconds: float = 2.0, total: float = 12.0
    ) -> list[Any]:
        """The harness's answer, one entry per piece that there was time for. Raises CouldNotRun."""
        job = Job(
            run_id=case.build_id,
            module="alita_gate",
            code=_harness(),
            arguments={
                "what": what,
                "name": case.draft.name,
                "code": case.draft.code,
                "tests": case.draft.tests,
                "pieces": list(pieces),
                "seconds": seconds,
                "total": total,
            },
            lock=case.lock,
            limits=self._bounds(total + seconds + 2),
        )
        async with self._room:
            return _answer(await self._sandbox.run(job, lambda *_: None, lambda *_: None))

    def _bounds(self, wall: float) -> Limits:
        import msgspec

        return msgspec.structs.replace(
            self._limits, wall_seconds=wall, cpu_seconds=wall, result_bytes=8 * 1024 * 1024
        )


@cache
def _harness() -> str:
    return files("alita_tui.toolsmith.gates").joinpath("harness.py").read_text("utf-8")


def _answer(report: RunReport) -> list[Any]:
    if report.status != "ok" or not isinstance(report.result, list):
        raise CouldNotRun(f"its run in the sandbox ended with {report.reason or 'no answer'}")
    return report.result
