"""Agents that work on parts of a task, the decision to use them, and the check of an answer."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import AgentId, Fact, TaskId, Value

AgentOutcome = Literal[
    "reported",
    "failed",
    "stuck",
    "step_limit",
    "budget",  # its share of the money or of the tokens did not suffice
    "late",  # its deadline came first
    "interrupted",  # the person stopped it, or the process ended
    "parked",  # a build of it waits for a verdict that nobody is here to give
]


class AgentInput(Value, frozen=True):
    """One input of an agent; it sees nothing else of the agent that delegated to it."""

    name: str
    """As the delegating agent named it: a file's name or handle, or e41 for the observation of event 41."""
    handle: str = ""
    """The artefact; empty for a text."""
    text: str = ""
    """The observation of the event, shortened if it is long; empty for an artefact."""


class AgentStarted(Fact, frozen=True):
    """An agent was handed a part of the task; its share of the budget is set aside. It may wait for its turn first."""

    agent_id: AgentId
    action_id: str
    """The delegating agent's action; the envelope names that agent."""
    role: str
    goal: str
    done_when: str = ""
    handed: tuple[AgentInput, ...] = ()
    depth: int = 1
    """1 for an agent that works for the lead."""
    attempt: int = 1
    because: str = ""
    """For a second attempt: why the first one failed."""
    usd: float | None = None
    """Its share of the budget; None: the task has no cap in money."""
    tokens: int | None = None
    """The same in tokens; None: the task has no cap in tokens."""
    seconds: float = 0.0
    """Deadline for its report, in seconds from this event."""
    steps: int = 0


class AgentEnded(Fact, frozen=True):
    """An agent reported its result, or ended without one for the `reason`."""

    agent_id: AgentId
    action_id: str
    outcome: AgentOutcome
    result: str = ""
    artefacts: tuple[str, ...] = ()
    """Handles of the files that it hands back."""
    evidence: tuple[str, ...] = ()
    """Its evidence: events (e41), files and pages of its own work."""
    missing: str = ""
    """The part of its goal that it could not do, in its own words."""
    reason: str = ""
    """Why there is no report."""
    usd: float = 0.0
    """Its cost by known and assumed prices, including the agents that worked for it."""
    tokens: int = 0
    steps: int = 0
    retried: bool = False
    """Another attempt follows."""


class DirectorChosen(Fact, frozen=True):
    """The decision whether one agent does the task or several do, with the likely cost of both."""

    task_id: TaskId
    directs: bool
    because: Literal["plan", "person", "setting", "single"]
    """`single`: the plan has no two independent parts."""
    branches: tuple[str, ...] = ()
    """Independent steps of the plan."""
    alone_tokens: int = 0
    """Tokens that one agent is likely to need for the remaining steps."""
    tokens: int = 0
    """Tokens that a lead with an agent for each branch is likely to need."""
    usd: float | None = None
    """The same in US dollars, from the cost of the task's calls so far; None if no price is known."""


class AnswerVerified(Fact, frozen=True):
    """Another model checked the answer against the evidence, without seeing how it was found."""

    action_id: str
    finding: Literal["holds", "refused", "unknown"]
    """`unknown`: the check itself failed, and the answer is given anyway."""
    faults: tuple[str, ...] = ()
    text: str = ""
    """The finding in one or two sentences."""
    because: Literal["costly", "always"] = "always"
    returned: bool = False
    """True if the agent got the finding and continues, once; otherwise the answer is given with it."""
