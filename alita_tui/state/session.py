"""The state of a session: tasks, builds, calls, library, models, money. Raw text, no rows."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from alita_tui.events import (
    NO_TASK,
    Artefact,
    CallId,
    MemoryItem,
    RunReport,
    SandboxStatus,
    StepStatus,
    TaskId,
    TaskOutcome,
    ToolCard,
)
from alita_tui.state import lanes
from alita_tui.state.agents import AgentState
from alita_tui.state.build import BuildState
from alita_tui.state.lanes import Lane
from alita_tui.state.providers import Provider
from alita_tui.state.queue import Queue
from alita_tui.state.ratings import Ratings
from alita_tui.state.rows import Rows
from alita_tui.state.servers import Servers
from alita_tui.state.spend import Spend

Phase = Literal["idle", "thinking", "acting", "building", "running", "waiting", "asking", "parked", "closed"]


class TaskState(msgspec.Struct, frozen=True, gc=False):
    """A task and how it ended."""

    task_id: TaskId
    text: str
    started: datetime
    again: TaskId = NO_TASK
    """The task that it continues; empty for a new one."""
    files: tuple[str, ...] = ()
    """Handles of the artefacts that were given with it."""
    outcome: TaskOutcome | None = None
    """None while it runs, and after the process was killed."""
    answer: str = ""
    reason: str = ""
    hint: str = ""
    ended: datetime | None = None
    """When it ended or was parked."""
    usd: float = 0.0
    """What it had cost then."""


class Run(msgspec.Struct, frozen=True, gc=False):
    """A finished run in the sandbox: of a tool, or of a draft's own tests."""

    run_id: str
    title: str
    at: datetime
    report: RunReport


class Question(msgspec.Struct, frozen=True, gc=False):
    """A question that waits for the person."""

    question_id: str
    text: str
    about: Literal["task", "budget", "server"] = "task"
    choices: tuple[str, ...] = ()


class SessionState(msgspec.Struct, frozen=True, gc=False):
    """The state of a session after all of its events so far."""

    session_id: str = ""
    title: str = ""
    model: str = ""
    recorded: bool = False
    """True when the model's replies are a recording (the demo)."""
    parent: str | None = None
    """The session that this one was forked from."""
    seq: int = 0
    at: datetime | None = None
    step: int = 0
    phase: Phase = "idle"
    artefacts: tuple[Artefact, ...] = ()
    """The newest one last; each name and content once."""
    given: frozenset[str] = frozenset()
    """Handles of the artefacts that the person gave."""
    tasks: Rows[TaskState] = Rows()
    queue: Queue = ()
    """Tasks that wait for their turn, the next one first."""
    paused: bool = False
    """The person paused the queue."""
    plan: tuple[str, ...] = ()
    ticks: tuple[StepStatus, ...] = ()
    """The status of each step of the plan; empty if none was reported."""
    library: tuple[ToolCard, ...] = ()
    touched: str = ""
    """Name of the tool that was registered, found or run last."""
    builds: Rows[BuildState] = Rows()
    runs: tuple[Run, ...] = ()
    """The newest runs, oldest first."""
    sandbox: SandboxStatus | None = None
    spend: Spend = Spend()
    providers: tuple[Provider, ...] = ()
    question: Question | None = None
    recalled: tuple[MemoryItem, ...] = ()
    ratings: Ratings = ()
    switches: tuple[tuple[str, bool], ...] = ()
    """Blocks of the context that the person switched on or off in this session."""
    calls: tuple[tuple[CallId, str], ...] = ()
    """Open tool calls as (call id, tool name)."""
    servers: Servers = ()
    """MCP servers that were used, the one of the newest event last."""
    focus: TaskId = NO_TASK
    """The task that phase, step, plan, question and calls belong to: the newest running one, or the last one."""
    taken_up: bool = False
    """Whether that task was parked and another process continues it."""
    agents: Rows[AgentState] = Rows()
    """The delegated agents, in the order in which they began."""
    lanes: tuple[Lane, ...] = ()
    """The other tasks that run at the same time, in the order in which they began."""

    @property
    def task(self) -> TaskState | None:
        """The newest task."""
        return self.tasks[-1] if self.tasks else None

    @property
    def running(self) -> tuple[TaskId, ...]:
        """The ids of the tasks that have not ended, in the order in which they began."""
        return lanes.running(self)

    @property
    def asked(self) -> Question | None:
        """The question that has waited longest, of any task."""
        return next((lane.question for lane in self.lanes if lane.question), self.question)

    def build(self, build_id: str) -> BuildState | None:
        """Return a build by its id."""
        return next((build for build in reversed(self.builds) if build.build_id == build_id), None)
