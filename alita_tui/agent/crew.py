"""Joins what several agents on one task need: director, delegation and verifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from alita_tui import events as e
from alita_tui.agent.actions import Action
from alita_tui.agent.build_jobs import BuildJobs
from alita_tui.agent.delegation import Delegation, Shared
from alita_tui.agent.director import Director
from alita_tui.agent.handlers import Handler
from alita_tui.agent.loop import AgentLoop
from alita_tui.agent.policy import Policy
from alita_tui.agent.references import References
from alita_tui.agent.role import Role, Roles
from alita_tui.agent.specialist import SpecialistLoop
from alita_tui.agent.tasks import CurrentTask
from alita_tui.agent.verifier import Verifier
from alita_tui.agent.working import WorkingContext
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.origin import Origin, working_on
from alita_tui.spine.ports.models import Asker


class Crew:
    """Joins director, delegation and verifier. Without roles or a budget to share, one agent does every task."""

    def __init__(
        self,
        bus: Bus,
        asker: Asker,
        task: CurrentTask,
        context: WorkingContext,
        references: References,
        jobs: BuildJobs,
        roles: Roles | None,
        shared: Shared | None,
        policy: Policy,
    ) -> None:
        roles = roles or Roles({})
        self._bus = bus
        self._policy = policy
        self._roles = roles
        self._loop: Callable[..., AgentLoop] | None = None
        self.director = Director(bus, task, roles, policy.director if shared else "never")
        self.verifier = Verifier(bus, asker, task, roles, policy.verify, policy.verify_usd)
        self._delegation = (
            Delegation(
                bus, task, context, references, jobs, roles, shared, self._specialist, parallel=policy.agents
            )
            if shared
            else None
        )

    def lead(self, loop: partial[AgentLoop]) -> AgentLoop:
        """Return the loop of lead agents; the loops of specialists are built from the same parts."""
        self._loop = loop
        policy = self._policy
        return loop(max_steps=policy.max_steps, reply_tokens=policy.reply_tokens, director=self.director)

    def _specialist(self, role: Role, depth: int) -> SpecialistLoop:
        assert isinstance(self._loop, partial)
        return SpecialistLoop(
            role, self._roles, depth, *self._loop.args,
            max_steps=role.steps, reply_tokens=self._policy.reply_tokens,
        )  # fmt: skip

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return self._delegation.table if self._delegation else {}

    def may(self, tool: str) -> bool:
        """Return whether the current agent may use a tool of the library."""
        return self._delegation is None or self._delegation.may(tool)

    def working(self, task_id: e.TaskId) -> Sequence[e.AgentId]:
        """Return the agents that work on a task besides its lead."""
        return self._delegation.working(task_id) if self._delegation else ()

    def interrupt(self, agent_id: e.AgentId) -> bool:
        """Stop an agent and all agents that work for it; return False if it was not running."""
        return self._delegation is not None and self._delegation.interrupt(agent_id)

    def origin_of(self, agent_id: e.AgentId) -> Origin:
        """Return the origin that a running agent's events carry."""
        assert self._delegation
        return self._delegation.origin_of(agent_id)

    async def close_left(self, chain: Sequence[str]) -> None:
        """Record the ends that a crash left out: of the tool calls of a task's agents, then of the agents."""
        started: dict[e.AgentId, Envelope] = {}
        calls: dict[e.CallId, Envelope] = {}
        kinds = (e.AgentStarted, e.AgentEnded, e.ToolCalled, e.ToolReturned, e.ToolFailed)
        for envelope in self._bus.history.of(*kinds):
            if envelope.task_id not in chain:
                continue
            match envelope.event:
                case e.AgentStarted(agent_id=agent_id):
                    started[agent_id] = envelope
                case e.AgentEnded(agent_id=agent_id):
                    started.pop(agent_id, None)
                case e.ToolCalled(call_id=call_id) if envelope.delegate:
                    calls[call_id] = envelope
                case e.ToolReturned(call_id=call_id) | e.ToolFailed(call_id=call_id):
                    calls.pop(call_id, None)
                case _:
                    pass
        for call_id, envelope in reversed(calls.items()):  # what a tool called ends before that tool
            assert isinstance(envelope.event, e.ToolCalled)
            text = f"{envelope.event.name} was interrupted when the program ended; it may have run."
            failed = e.ToolFailed(
                call_id=call_id, depth=envelope.event.depth, reason="interrupted", text=text
            )
            with working_on(_origin_of_event(envelope)):
                await self._bus.emit(failed, span=call_id)
        for agent_id, envelope in reversed(started.items()):
            assert isinstance(envelope.event, e.AgentStarted)
            ended = e.AgentEnded(
                agent_id=agent_id,
                action_id=envelope.event.action_id,
                outcome="interrupted",
                reason="The program ended while it worked.",
                steps=next((own.step for own in reversed(self._bus.history) if own.delegate == agent_id), 0),
            )
            with working_on(_origin_of_event(envelope)):
                await self._bus.emit(ended, span=agent_id)


def _origin_of_event(envelope: Envelope) -> Origin:
    """Return the origin of an event, for the event that ends what it began."""
    return Origin(
        task_id=envelope.task_id,
        agent_id=envelope.agent_id,
        step=envelope.step,
        span=envelope.span,
        parent=envelope.parent,
    )
