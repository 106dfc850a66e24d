"""Agents that a part of a task is handed to, the decision to do so, and the check of an answer."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, Value

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
    """As it was named: a file's name or handle, or e41 for what an event brought."""
    handle: str = ""
    """The artefact; empty for a text."""
    text: str = ""
    """What the event brought, cut if it is long; empty for an artefact."""


class AgentStarted(Fact, frozen=True):
    """An agent was handed a part of the task; its share of the budget is set aside. It may wait for its turn first."""

    agent_id: str
    action_id: str
    """The action of the agent that handed it over; the envelope names that agent."""
    role: str
    goal: str
    done_when: str = ""
    handed: tuple[AgentInput, ...] = ()
    depth: int = 1
    """1 for those that the lead hands a part to."""
    attempt: int = 1
    because: str = ""
    """Why the first attempt failed, for the second."""
    usd: float | None = None
    """What it may cost; None: no cap in money holds for the task."""
    tokens: int | None = None
    """What it may take; None: no cap in tokens holds for the task."""
    seconds: float = 0.0
    """Deadline for its report, in seconds from this event."""
    steps: int = 0


class AgentEnded(Fact, frozen=True):
    """An agent reported its result, or ended without one for the `reason`."""

    agent_id: str
    action_id: str
    outcome: AgentOutcome
    result: str = ""
    artefacts: tuple[str, ...] = ()
    """Handles of the files that it hands back."""
    evidence: tuple[str, ...] = ()
    """What its result rests on: events (e41), files and pages of its own work."""
    missing: str = ""
    """What it could not do, in its own words."""
    reason: str = ""
    """Why it did not report."""
    usd: float = 0.0
    """What it cost by known and assumed prices, with those that it handed parts to."""
    tokens: int = 0
    steps: int = 0
    retried: bool = False
    """Another attempt follows."""


class DirectorChosen(Fact, frozen=True):
    """Whether one agent does the task, or the lead hands parts of it to others, and what that is likely to cost."""

    task_id: str
    directs: bool
    because: Literal["plan", "person", "setting", "single"]
    """`single`: the plan has no two independent parts."""
    branches: tuple[str, ...] = ()
    """Independent steps of the plan."""
    alone_tokens: int = 0
    """What one agent is likely to take for the steps that are left."""
    tokens: int = 0
    """What a lead with an agent for each branch is likely to take."""
    usd: float | None = None
    """The same in US dollars, by what the task's calls cost so far; None where no price is known."""


class AnswerVerified(Fact, frozen=True):
    """Another model checked the answer against the evidence before it was given; it does not see how it was found."""

    action_id: str
    finding: Literal["holds", "refused", "unknown"]
    """`unknown`: the check itself failed; the answer is given all the same."""
    faults: tuple[str, ...] = ()
    text: str = ""
    """In one or two sentences."""
    because: Literal["costly", "always"] = "always"
    returned: bool = False
    """True if the agent got the finding and continues, once; otherwise the answer is given with it."""
