"""What must hold of agents that parts of a task are handed to.

Each begins once and ends once, before whoever handed it its part, after its own calls and before its task; it acts only
in between. It uses the files that it was handed, made, or was handed back, and no call or share goes beyond what was
set aside for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.events import (
    ActionChosen,
    AgentEnded,
    AgentId,
    AgentStarted,
    ArtefactAdded,
    BudgetReserved,
    BudgetSpent,
    TaskFinished,
    TaskId,
    ToolCalled,
    ToolFailed,
    ToolReturned,
)
from alita_tui.spine.budget_shares import CENTS, Amount, Cap, Shares
from alita_tui.spine.envelope import Envelope

DEEPEST = 2
"""Maximum depth of hand-overs: an agent of depth 2 cannot hand on a part of its own."""
Breaches = Iterator[tuple[str, str]]
"""A law and what breaks it."""


class AgentLaws:
    """Follows the agents of one stream."""

    def __init__(self) -> None:
        self.open: dict[AgentId, int] = {}
        """Agent that has not ended -> the event with which it began."""
        self._began: dict[AgentId, AgentStarted] = {}
        self._task: dict[AgentId, TaskId] = {}
        self._parent: dict[AgentId, AgentId] = {}
        self._files: dict[AgentId, set[str]] = {}
        """Agent -> handles that it may use."""
        self._calls: dict[str, AgentId] = {}
        """Open call of an agent -> that agent."""
        self._shares = Shares()

    def apply(self, envelope: Envelope) -> Breaches:  # noqa: C901  # one match over all laws
        """Take in an event; yield each law that it breaks, with how."""
        agent_id, event = envelope.delegate, envelope.event
        if agent_id and envelope.task_id != self._task.get(agent_id):
            yield "in its task", f"no agent {agent_id} works for task {envelope.task_id}"
            return
        match event:
            case AgentStarted():
                yield from self._start(envelope, event)
            case AgentEnded(agent_id=ended_id):
                yield from self._end(envelope, ended_id)
                self._files.setdefault(agent_id, set()).update(event.artefacts)
            case ArtefactAdded(artefact=artefact) if agent_id:
                self._files[agent_id].add(artefact.handle)
            case ActionChosen(action_id=action_id) if agent_id and agent_id not in self.open:
                yield "act before the end", f"{action_id} was chosen by {agent_id}, which had ended"
            case ToolCalled(call_id=call_id, files=files) if agent_id:
                if agent_id not in self.open:
                    yield "act before the end", f"call {call_id} is of {agent_id}, which had ended"
                self._calls[call_id] = agent_id
                for file in files:
                    if file.handle not in self._files[agent_id]:
                        yield "use what was handed", f"{agent_id} used {file.handle}, which it was not handed"
            case ToolReturned(call_id=call_id) | ToolFailed(call_id=call_id):
                if self._calls.pop(call_id, agent_id) != agent_id:
                    yield "one agent per call", f"call {call_id} began in another agent"
            case BudgetReserved(call_id=call_id):
                usd = event.assumed_usd if event.usd is None else event.usd
                amount = Amount(usd, event.tokens)
                payer = self._shares.payer(agent_id)
                if payer and self._shares.refusal(payer, amount):
                    yield "within its share", f"call {call_id} is more than is left to {agent_id}"
                self._shares.reserved(call_id, envelope.task_id, agent_id, amount)
            case BudgetSpent(call_id=call_id, cost_usd=cost, tokens=tokens):
                self._shares.spent(call_id, Amount(event.assumed_usd if cost is None else cost, tokens))
            case TaskFinished(task_id=task_id):
                for open_id in self.open:
                    if self._task[open_id] == task_id:
                        yield "agents end first", f"task {task_id} ended before {open_id}"
            case _:
                pass

    def _start(self, envelope: Envelope, event: AgentStarted) -> Breaches:
        name, parent = event.agent_id, envelope.delegate
        if name in self._began:
            yield "one agent per name", f"{name} began twice"
        parent_start = self._began.get(parent)
        if event.depth != (parent_start.depth if parent_start else 0) + 1 or event.depth > DEEPEST:
            yield "hand on twice at most", f"{name} is not {event.depth} hand-overs deep"
        if parent and parent not in self.open:
            yield "act before the end", f"{name} began for {parent}, which had ended"
        handles = {handed.handle for handed in event.handed if handed.handle}
        if parent and not handles <= self._files[parent]:
            yield "use what was handed", f"{name} was handed what {parent} has not"
        if parent and parent in self.open:
            left = self._shares.remaining(parent)
            over = left.usd is not None and (event.usd is None or event.usd > left.usd + CENTS)
            if over or (left.tokens is not None and (event.tokens is None or event.tokens > left.tokens)):
                yield "within its share", f"{name} was given more than is left to {parent}"
        self._began[name], self._parent[name] = event, parent
        self._task[name], self._files[name] = envelope.task_id, handles
        self.open[name] = envelope.seq or 0
        self._shares.started(name, envelope.task_id, parent, Cap(usd=event.usd, tokens=event.tokens))

    def _end(self, envelope: Envelope, name: AgentId) -> Breaches:
        if self.open.pop(name, None) is None:
            yield "one end per agent", f"{name} is not at work"
            return
        if self._parent[name] != envelope.delegate:
            yield "one end per agent", f"{name} was ended by another agent than began it"
        if name in self._calls.values():
            yield "calls end first", f"{name} ended before a call that it made"
        if name in (self._parent[at_work] for at_work in self.open):
            yield "agents end first", f"{name} ended before one that works for it"
        self._shares.ended(name)
