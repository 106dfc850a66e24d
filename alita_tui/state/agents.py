"""The agents that parts of tasks were delegated to.

Their events change neither the phase nor the step of their task: those are the lead's.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.events import AgentOutcome, CallId
from alita_tui.state.rows import Rows

if TYPE_CHECKING:
    from alita_tui.spine.envelope import Envelope
    from alita_tui.state.session import Phase, SessionState


class AgentState(msgspec.Struct, frozen=True, gc=False):
    """One agent and its state."""

    agent_id: e.AgentId
    task_id: e.TaskId
    parent: e.AgentId
    """The agent that delegated to it; empty for the lead."""
    role: str
    goal: str
    started: datetime
    attempt: int = 1
    share_usd: float | None = None
    share_tokens: int | None = None
    phase: Phase = "idle"
    """`idle` until its turn comes."""
    step: int = 0
    calls: tuple[tuple[CallId, str], ...] = ()
    usd: float = 0.0
    """Known cost of its own calls."""
    tokens: int = 0
    estimated_tokens: int = 0
    """Tokens of these that are estimated, because the provider reported none."""
    model_ms: float = 0.0
    """Duration of its model calls."""
    paid: int = 0
    """Number of model calls that were paid for it."""
    unpriced: int = 0
    """Calls without a known price."""
    outcome: AgentOutcome | None = None
    """None while it works, and after the process was killed."""
    ended: datetime | None = None
    retried: bool = False

    @property
    def title(self) -> str:
        """Its id, with the number of the attempt if it is not the first."""
        return self.agent_id if self.attempt == 1 else f"{self.agent_id} (second attempt)"


Agents = Rows[AgentState]


def after(agents: Agents, envelope: Envelope) -> Agents:
    """Return the agents after one began or ended."""
    match envelope.event:
        case e.AgentStarted() as event:
            return agents.append(
                AgentState(
                    agent_id=event.agent_id,
                    task_id=envelope.task_id,
                    parent=envelope.delegate,
                    role=event.role,
                    goal=event.goal,
                    started=envelope.at,
                    attempt=event.attempt,
                    share_usd=event.usd,
                    share_tokens=event.tokens,
                )
            )
        case e.AgentEnded() as event:
            return _change(
                agents,
                event.agent_id,
                outcome=event.outcome,
                ended=envelope.at,
                retried=event.retried,
                calls=(),
                phase="idle",
            )
        case _:
            return agents


def paid(agents: Agents, envelope: Envelope) -> Agents:
    """Return the agents after a model call of one of them was paid."""
    agent_id = envelope.delegate
    agent = of(agents, agent_id)
    if agent is None:
        return agents
    match envelope.event:
        case e.BudgetSpent(cost_usd=cost, tokens=tokens, estimated=estimated):
            return _change(
                agents,
                agent_id,
                usd=agent.usd + (cost or 0.0),
                tokens=agent.tokens + tokens,
                estimated_tokens=agent.estimated_tokens + (tokens if estimated else 0),
                paid=agent.paid + 1,
                unpriced=agent.unpriced + (cost is None),
            )
        case e.ModelReplied(duration_ms=duration):
            return _change(agents, agent_id, model_ms=agent.model_ms + duration)
        case _:
            return agents


def of(agents: Agents, agent_id: e.AgentId) -> AgentState | None:
    """Return an agent by its id."""
    return (
        next((agent for agent in reversed(agents) if agent.agent_id == agent_id), None) if agent_id else None
    )


def turned(state: SessionState, agent: AgentState, event: e.SessionEvent) -> SessionState:
    """Return the state with an agent's fields in place of the lead's; its first model call marks it as working."""
    begins = agent.phase == "idle" and agent.outcome is None and isinstance(event, e.BudgetReserved)
    return replace(state, phase="thinking" if begins else agent.phase, step=agent.step, calls=agent.calls)


def turned_back(state: SessionState, agent: AgentState, lead: SessionState) -> SessionState:
    """Return the state with the lead's fields again, and the agent's new state among the agents."""
    agents = _change(state.agents, agent.agent_id, phase=state.phase, step=state.step, calls=state.calls)
    return replace(
        state,
        agents=agents,
        phase=lead.phase,
        step=lead.step,
        calls=lead.calls,
        plan=lead.plan,
        ticks=lead.ticks,
        question=lead.question,
    )


def _change(agents: Agents, agent_id: e.AgentId, **changes: object) -> Agents:
    return agents.change_newest(
        lambda agent: agent.agent_id == agent_id,
        lambda agent: replace(agent, **changes),
    )
