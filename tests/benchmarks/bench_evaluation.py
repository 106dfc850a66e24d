"""What an evaluation takes besides the agent's own time, from a task to its end: home, session, check, record."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from alita_tui.agent.task_runner import TaskRunner
from alita_tui.app.context import AppContext, close_all
from alita_tui.app.evaluation import beginning, case_session, execution, homes
from alita_tui.evaluation.results import CaseResult
from alita_tui.evaluation.suite import read_suite
from tests.app.evaluation.suites import MIND, settle
from tests.support.servers.openai_server import OpenAIServer

Row = Callable[..., dict[str, float | str | None]]
CASES = 50


class Clocks:
    """Time that is not the agent's: by the clock, and on the processor with all threads."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, float]] = []
        """Seconds of both that were not the agent's until a case ended, for each case."""
        self._agent = self._agent_processor = 0.0
        self._begin: Callable[..., Awaitable[None]] = TaskRunner.begin
        self._make: Callable[..., None] = case_session.prepare_home

    async def task(self, *given: object) -> None:
        """Do a task. What the processor does meanwhile is the agent's, and the model's server in this process."""
        began = time.process_time()
        try:
            await self._begin(*given)
        finally:
            self._agent_processor += time.process_time() - began

    def home(self, *given: object) -> None:
        """Make a home. That is done beside a task, and its processor time is the evaluation's nevertheless."""
        began = time.thread_time()
        self._make(*given)
        self._agent_processor -= time.thread_time() - began

    def ended(self, result: CaseResult, _done: int, _of: int) -> None:
        """Note that a case ended."""
        self._agent += result.seconds
        self.ends.append((time.perf_counter() - self._agent, time.process_time() - self._agent_processor))


CHECKS: tuple[dict[str, Any], ...] = (
    {"kind": "number", "value": 42}, {"kind": "contains", "texts": ["42"], "without": ["41"]},
    {"kind": "exact", "text": "it is 42", "loose": True}, {"kind": "number", "value": 42, "relative": 0.01},
    {"kind": "pattern", "regex": r"\b42\b"},
    {"kind": "every", "checks": [{"kind": "number", "value": 42}, {"kind": "contains", "texts": ["It"]}]},
)  # fmt: skip


def _case(number: int) -> dict[str, Any]:
    """Return a case: checks of several kinds, tasks of one line to a page, a file with each fourth, each ninth fails."""
    words = "".join(f" Item {n} weighs {n * 13 % 97} kg." for n in range(number * 7 % 60))
    return {
        "task": f"Add {number}{', wrong' if number % 9 == 8 else ''}.{words}", "check": CHECKS[number % len(CHECKS)],
        "files": ["towns.csv"] if number % 4 == 3 else [],
    }  # fmt: skip


def evaluation(results: dict[str, dict[str, float | str | None]], row: Row, cases: int = CASES) -> None:
    """Milliseconds for each case without what its task took, by the clock and on the processor.

    Counted from the end of a first case: what a process imports for it, and the start of the sandbox, are paid once,
    however many cases there are (`eval.first_case_s`). On a loaded machine the clock also counts what others do.
    """
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(MIND) as server:
        home, path, clocks = Path(folder, "home"), Path(folder, "cases.jsonl"), Clocks()
        settle(home, server)
        Path(folder, "towns.csv").write_text(
            "town,people\n" + "".join(f"town {n},{n * 37}\n" for n in range(2000))
        )
        path.write_text("".join(json.dumps(_case(n)) + "\n" for n in range(cases + 1)))
        app = AppContext.open(home)
        setup = beginning.begin(
            app, read_suite(path), path, (), repeat=1, budget_usd=0, approve="none", without=(), tags=()
        )
        run = beginning.folder_of_runs(app) / setup.run
        with (
            patch.object(TaskRunner, "begin", lambda *given: clocks.task(*given)),
            patch.object(homes, "prepare_home", clocks.home),
        ):
            began = time.perf_counter()
            done = asyncio.run(execution.run_cases(app, setup, run, 1, clocks.ended))
        close_all()
    assert len(done) == len(clocks.ends) == cases + 1
    assert sum(not one.solved for one in done) == sum("wrong" in _case(n)["task"] for n in range(cases + 1))
    first, last = clocks.ends[0], clocks.ends[-1]
    results["eval.overhead_ms_per_case"] = row((last[0] - first[0]) * 1000 / cases, "ms")
    results["eval.overhead_cpu_ms_per_case"] = row((last[1] - first[1]) * 1000 / cases, "ms CPU")
    results["eval.first_case_s"] = row(first[0] - began, "s")
