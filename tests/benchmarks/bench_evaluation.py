"""What an evaluation takes besides the agent's own time, from a task to its end: home, session, check, record."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from alita_tui.app import evaluating
from alita_tui.app.context import AppContext, close_all
from alita_tui.evaluation.suite import read_suite
from tests.evaluation.test_run import MIND, settle
from tests.support.servers.openai_server import OpenAIServer

Row = Callable[..., dict[str, float | str | None]]
CASES = 50


async def used(app: AppContext) -> None:
    """Look at the sandbox, as a session in this home would have."""
    sandbox = app.sandbox("bench")
    try:
        await sandbox.status()
    finally:
        await sandbox.close()


def evaluation(results: dict[str, dict[str, float | str | None]], row: Row, cases: int = CASES) -> None:
    """Milliseconds for each case, one at a time: the whole run by the clock, less what the tasks took.

    The home has been used: that its sandbox's limits were tried, once for each machine, is no part of a run.
    """
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(MIND) as server:
        home, path = Path(folder, "home"), Path(folder, "cases.jsonl")
        settle(home, server)
        check = {"kind": "number", "value": 42}
        path.write_text(
            "".join(json.dumps({"task": f"Add {n}.", "check": check}) + "\n" for n in range(cases))
        )
        app = AppContext.open(home)
        asyncio.run(used(app))
        setup = evaluating.begin(
            app, read_suite(path), path, (), repeat=1, budget_usd=0, approve="none", without=(), tags=()
        )
        run = evaluating.folder_of_runs(app) / setup.run
        began = time.perf_counter()
        done = asyncio.run(evaluating.go_on(app, setup, run, 1, lambda *_: None))
        took = time.perf_counter() - began - sum(one.seconds for one in done)
        close_all()
    assert len(done) == cases and all(one.solved for one in done)
    results["eval.overhead_ms_per_case"] = row(took * 1000 / cases, "ms")
