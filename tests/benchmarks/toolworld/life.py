"""A stream of tasks through the real engine: real sessions, a model on a wire, the sandbox, every check.

A person who goes by the evidence decides on each build by its digest: what the gates passed is approved, nothing else.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.session import LiveSession, close_session, open_session
from alita_tui.spine.commands import GiveFeedback, ResolveApproval, SubmitTask
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.view.queries import build_of
from alita_tui.view.risk import names_to_accept, risks
from tests.benchmarks.toolworld.mind import Mind
from tests.benchmarks.toolworld.world import Task, equal, right, trials

_SESSION = 10
"""Tasks of a session; then a new one is opened, which knows nothing but library and memory."""
_NOTICED = 0.5
"""Share of wrong answers that the person notices."""


@dataclass
class Done:
    """What came of a task."""

    task: Task
    answer: str = ""
    outcome: str = ""
    solved: bool = False
    calls: int = 0
    """Model calls, of all roles."""
    builds: list[str] = field(default_factory=list)
    """How its builds ended."""
    refused: list[str] = field(default_factory=list)
    """Why builds were rejected."""
    repairs: int = 0
    ran: list[str] = field(default_factory=list)
    reused: bool = False
    """It was solved with tools that were there already."""
    bands: list[str] = field(default_factory=list)
    recalled: int = 0
    seconds: float = 0.0


@contextmanager
def surroundings(home: Path, url: str, **more: str) -> Iterator[None]:
    """The environment of an installation of its own that asks the model at an address."""
    ours = {
        "ALITA_HOME": str(home), "ALITA_MODEL": "openai:toolworld", "ALITA_MODEL_BASE_URL": url,
        "OPENAI_API_KEY": "sk-not-a-real-key", "ALITA_BUDGET_TASK_USD": "0", "ALITA_BUDGET_SESSION_USD": "0",
        "ALITA_BUDGET_DAY_USD": "0", "ALITA_BUDGET_TASK_TOKENS": "0", "ALITA_IMPROVE_IDLE": "false", **more,
    }  # fmt: skip
    before = {name: value for name, value in os.environ.items() if name.startswith("ALITA_") or name in ours}
    for name in before:
        del os.environ[name]
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
        os.environ.update(before)


class Life:
    """One installation that does a stream of tasks."""

    def __init__(self, app: AppContext, mind: Mind, *, learns: bool = True) -> None:
        """With `learns` false nothing that came of a task is kept with the tools, and the person says nothing."""
        self.app = app
        self._mind = mind
        self._learns = learns
        if not learns:
            app.library.note = lambda *_: None  # type: ignore[method-assign]
        self.done: list[Done] = []

    async def live(self, tasks: Sequence[Task], told: Any = None) -> list[Done]:
        """Do all tasks, in sessions of a few."""
        for start in range(0, len(tasks), _SESSION):
            session = await open_session(self.app, parks=False)
            running = asyncio.create_task(session.run())
            source = aiter(session.source)
            try:
                for task in tasks[start : start + _SESSION]:
                    done = await self._do(session, source, task)
                    self.done.append(done)
                    if told:
                        told(len(self.done), done)
            finally:
                rest = asyncio.create_task(_drain(source))
                await close_session(session, running)
                await rest
        return self.done

    async def _do(self, session: LiveSession, source: Any, task: Task) -> Done:
        done, started, calls = Done(task), time.perf_counter(), self._mind.calls
        there = {card.digest for card in self.app.library.cards()}
        used: list[str] = []
        session.send(SubmitTask(text=task.text))
        async for envelope in source:
            match envelope.event:
                case e.ApprovalRequested() as request:
                    session.send(self._verdict(session, request, done))
                case e.BuildDrafted(attempt=attempt):
                    done.repairs += attempt > 1
                case e.ToolRegistered():
                    done.builds.append("registered")
                case e.ToolAliased():
                    done.builds.append("aliased")
                case e.BuildFailed(reason=reason):
                    done.builds.append("failed")
                    done.refused.append(reason[:200])
                case e.ToolCalled(name=name, digest=digest):
                    done.ran.append(name)
                    used.append(digest)
                case e.ToolSearched(band=band):
                    done.bands.append(band)
                case e.MemoryRecalled(items=items):
                    done.recalled = sum(one.memory == "procedural" for one in items)
                case e.TaskFinished(outcome=outcome, answer=answer):
                    done.outcome, done.answer = outcome, answer
                    break
                case _:
                    pass
        done.solved = right(task, done.answer)
        done.reused = done.solved and bool(used) and {*used} <= there and not done.builds
        done.calls, done.seconds = self._mind.calls - calls, time.perf_counter() - started
        if not done.solved and done.outcome == "answered" and self._learns and _luck(task.text) < _NOTICED:
            session.send(GiveFeedback(rating="down", text="That is wrong."))
        return done

    async def bad_tools(self) -> list[str]:
        """Return the tools of the library that answer otherwise than the world, asked what nobody asked before."""
        sandbox = self.app.sandbox("toolworld-judge")
        bench, bad = Workbench(sandbox, self.app.limits), []
        try:
            for record in self.app.library.records():
                cases = trials(record.draft.description, record.draft.input_schema["properties"])
                case = Case(build_id=e.BuildId(record.digest[:16]), draft=record.draft, lock=record.lock)
                answers = await bench.outputs(case, [given for given, _ in cases]) if cases else []
                right_ones = [
                    equal(said.get("result"), answer)
                    for said, (_, answer) in zip(answers, cases, strict=False)
                ]
                if not right_ones or not all(right_ones):
                    bad.append(f"{record.draft.name} v{record.version} ({record.state})")
        finally:
            await sandbox.close()
        return bad

    def _verdict(self, session: LiveSession, request: e.ApprovalRequested, done: Done) -> ResolveApproval:
        build = build_of(session.bus.history, request.build_id)
        attempt = build.presented if build else None
        assert build is not None and attempt is not None
        found = risks(build, attempt)
        twins = [twin for one in attempt.gates for twin in one.twins] if found else []
        if not found:
            verdict = e.Verdict(decision="approved")
        elif names_to_accept(found) == ("twin",) and twins:
            verdict = e.Verdict(decision="aliased", alias_of=twins[0])
        else:
            done.builds.append("rejected")
            done.refused.append(f"{found[0].name}: {found[0].text}")
            verdict = e.Verdict(decision="rejected", reason=found[0].text)
        return ResolveApproval(approval_id=request.approval_id, digest=request.digest, verdict=verdict)


async def _drain(source: Any) -> None:
    async for _ in source:
        pass


def _luck(text: str) -> float:
    return sha256(text.encode()).digest()[0] / 256
