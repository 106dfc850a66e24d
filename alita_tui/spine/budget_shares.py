"""What each agent of a task may spend: a share of the budget of the agent that it works for. Pure.

A share is reserved from the agent's start to its end. What remains of it is the share minus what was spent for the
agent, what its open calls may cost, and what the agents that work for it may still spend. No call and no further share
may exceed that.
"""

from __future__ import annotations

from typing import NamedTuple

from alita_tui.events import NO_AGENT, NO_TASK, AgentId, TaskId, Value

CENTS = 1e-9
"""Tolerance in US dollars for sums of floating point numbers."""


class Cap(Value, frozen=True):
    """A limit in money and in tokens. None: none."""

    usd: float | None = None
    tokens: int | None = None


class Amount(NamedTuple):
    """Money with a known price, and tokens."""

    usd: float = 0.0
    tokens: int = 0

    def plus(self, added: Amount) -> Amount:
        """Return the sum."""
        return Amount(self.usd + added.usd, self.tokens + added.tokens)


class _Agent:
    def __init__(self, task_id: TaskId, parent: AgentId, cap: Cap) -> None:
        self.task_id = task_id
        self.parent = parent
        """The agent that it works for; empty for the lead."""
        self.cap = cap
        self.spent = Amount()
        """Includes what the agents below it spent."""
        self.open = True


class Shares:
    """The shares of all agents of a session."""

    def __init__(self) -> None:
        self._agents: dict[AgentId, _Agent] = {}
        self._calls: dict[str, tuple[TaskId, AgentId, Amount]] = {}
        """Open call -> its task, its agent, what it may cost."""

    def started(self, agent_id: AgentId, task_id: TaskId, parent: AgentId, cap: Cap) -> None:
        """Reserve an agent's share."""
        self._agents[agent_id] = _Agent(task_id, parent, cap)

    def ended(self, agent_id: AgentId) -> None:
        """Release what an agent did not spend."""
        if agent := self._agents.get(agent_id):
            agent.open = False

    def payer(self, agent_id: AgentId) -> AgentId:
        """Return whose share a call of an agent is paid from: a build may outlast the agent that ordered it."""
        while (agent := self._agents.get(agent_id)) and not agent.open:
            agent_id = agent.parent
        return agent_id if agent_id in self._agents else NO_AGENT

    def reserved(self, call_id: str, task_id: TaskId, agent_id: AgentId, amount: Amount) -> None:
        """Record a call that is about to be made."""
        self._calls[call_id] = (task_id, self.payer(agent_id), amount)

    def spent(self, call_id: str, amount: Amount) -> None:
        """Record what a call cost; it counts for its agent and for all agents above it."""
        _, agent_id, _ = self._calls.pop(call_id, (NO_TASK, NO_AGENT, Amount()))
        while agent := self._agents.get(agent_id):
            agent.spent = agent.spent.plus(amount)
            agent_id = agent.parent

    def spent_by(self, agent_id: AgentId) -> Amount:
        """Return what an agent spent, agents that worked for it included."""
        agent = self._agents.get(agent_id)
        return agent.spent if agent else Amount()

    def committed(self, task_id: TaskId, agent_id: AgentId = NO_AGENT) -> Amount:
        """Return what an agent (empty: the lead) has reserved for its open calls and open agents."""
        usd, tokens = 0.0, 0
        for of_task, of_agent, waiting in self._calls.values():
            if (of_task, of_agent) == (task_id, agent_id):
                usd, tokens = usd + waiting.usd, tokens + waiting.tokens
        for name, agent in self._agents.items():
            if agent.open and (agent.task_id, agent.parent) == (task_id, agent_id):
                inside = self.committed(task_id, name)
                usd += inside.usd if agent.cap.usd is None else max(agent.cap.usd - agent.spent.usd, 0.0)
                tokens += (
                    inside.tokens
                    if agent.cap.tokens is None
                    else max(agent.cap.tokens - agent.spent.tokens, 0)
                )
        return Amount(usd, tokens)

    def remaining(self, agent_id: AgentId) -> Cap:
        """Return what an agent may still reserve; without a limit if its share has none."""
        agent = self._agents[agent_id]
        committed = self.committed(agent.task_id, agent_id)
        cap = agent.cap
        return Cap(
            usd=None if cap.usd is None else max(cap.usd - agent.spent.usd - committed.usd, 0.0),
            tokens=None if cap.tokens is None else max(cap.tokens - agent.spent.tokens - committed.tokens, 0),
        )

    def refusal(self, agent_id: AgentId, amount: Amount) -> str:
        """Return why a call does not fit into its agent's share; empty if it does."""
        left = self.remaining(agent_id)
        if left.usd is not None and amount.usd > left.usd + CENTS:
            return f"The next call could take ${amount.usd:.4f}, and ${left.usd:.4f} of the agent's share are left."
        if left.tokens is not None and amount.tokens > left.tokens:
            return f"The next call could take {amount.tokens:,} tokens, and {left.tokens:,} of the share are left."
        return ""

    def share_of(self, agent_id: AgentId) -> Cap:
        """Return the agent's share."""
        return self._agents[agent_id].cap
