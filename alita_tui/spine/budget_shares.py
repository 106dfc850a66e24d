"""What each agent of a task may take: a share of whoever handed it a part, set aside for it until it ends. Pure.

What an agent has left is its share without what was spent for it, what its calls under way may take, and what the
agents that work for it may still take. So no call of anyone, and no share that is given, can come to more than that.
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
        """Both together."""
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
        """Call under way -> its task, its agent, what it may take."""

    def started(self, agent_id: AgentId, task_id: TaskId, parent: AgentId, cap: Cap) -> None:
        """Set an agent's share aside."""
        self._agents[agent_id] = _Agent(task_id, parent, cap)

    def ended(self, agent_id: AgentId) -> None:
        """Give back what an agent did not take."""
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

    def taken(self, agent_id: AgentId) -> Amount:
        """Return what was spent for an agent, with those that worked for it."""
        agent = self._agents.get(agent_id)
        return agent.spent if agent else Amount()

    def held(self, task_id: TaskId, agent_id: AgentId = NO_AGENT) -> Amount:
        """Return what an agent (empty: the lead) has given away: to its calls under way, and to open agents."""
        usd, tokens = 0.0, 0
        for of_task, of_agent, waiting in self._calls.values():
            if (of_task, of_agent) == (task_id, agent_id):
                usd, tokens = usd + waiting.usd, tokens + waiting.tokens
        for name, agent in self._agents.items():
            if agent.open and (agent.task_id, agent.parent) == (task_id, agent_id):
                inside = self.held(task_id, name)
                usd += inside.usd if agent.cap.usd is None else max(agent.cap.usd - agent.spent.usd, 0.0)
                tokens += (
                    inside.tokens
                    if agent.cap.tokens is None
                    else max(agent.cap.tokens - agent.spent.tokens, 0)
                )
        return Amount(usd, tokens)

    def left(self, agent_id: AgentId) -> Cap:
        """Return what an agent may still give away; None if nothing limits it."""
        agent = self._agents[agent_id]
        committed = self.held(agent.task_id, agent_id)
        cap = agent.cap
        return Cap(
            usd=None if cap.usd is None else max(cap.usd - agent.spent.usd - committed.usd, 0.0),
            tokens=None if cap.tokens is None else max(cap.tokens - agent.spent.tokens - committed.tokens, 0),
        )

    def refusal(self, agent_id: AgentId, amount: Amount) -> str:
        """Return why a call does not fit into its agent's share; empty if it does."""
        left = self.left(agent_id)
        if left.usd is not None and amount.usd > left.usd + CENTS:
            return f"The next call could take ${amount.usd:.4f}, and ${left.usd:.4f} of the agent's share are left."
        if left.tokens is not None and amount.tokens > left.tokens:
            return f"The next call could take {amount.tokens:,} tokens, and {left.tokens:,} of the share are left."
        return ""

    def capped(self, agent_id: AgentId) -> Cap:
        """Return the agent's share."""
        return self._agents[agent_id].cap
