"""How a task ends, and queries about the present task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeVar, cast

import msgspec

from alita_tui import events as e
from alita_tui.agent.projection import StateProjection
from alita_tui.events import Value
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, ModelError
from alita_tui.spine.history import of_kind
from alita_tui.state.build import BuildState
from alita_tui.state.session import SessionState, TaskState

E = TypeVar("E", bound=msgspec.Struct)

RETRIABLE: frozenset[e.TaskOutcome] = frozenset(("failed", "stuck", "step_limit", "sandbox", "budget"))
"""Outcomes that trying again may change."""
UNFINISHED: frozenset[e.TaskOutcome | None] = frozenset((None, "parked", "budget"))
"""Outcomes after which the same task can continue where it stopped; None for a task that was cut off."""
_FINAL: dict[e.TaskOutcome, str] = {
    "answered": "was answered",
    "rejected": "ended with your rejection of its build",
    "interrupted": "was stopped by you",
}


class TaskEnd(Value, frozen=True):
    """How a task ended: a `TaskFinished` without its task."""

    outcome: e.TaskOutcome
    reason: str = ""
    answer: str = ""
    hint: str = ""
    retry_in: float | None = None
    """Seconds until the model's server answers again, if it said so."""
    ungrounded: tuple[str, ...] = ()
    """Figures, dates and quotations of the answer that nothing in the session supports."""
    finding: Literal["", "holds", "refused", "unknown"] = ""
    faults: tuple[str, ...] = ()
    """What a verifier found wrong with the answer, as in `TaskFinished`."""

    @classmethod
    def of(cls, outcome: e.TaskOutcome, error: AlitaError) -> TaskEnd:
        """Return the end of a task that an error ended."""
        wait = error.retry_after if isinstance(error, ModelError) else None
        reason = error.message if wait is None else f"{error.message} It answers again in {wait:.0f} s."
        return cls(outcome, reason, hint=error.hint, retry_in=wait)

    def finished(self, task_id: e.TaskId) -> e.TaskFinished:
        """Return the event that records this end."""
        return e.TaskFinished(task_id=task_id, **msgspec.structs.asdict(self))


class CurrentTask:
    """The task of the caller, read from the record, since several run side by side; outside of one, the newest."""

    def __init__(self, bus: Bus, projection: StateProjection) -> None:
        self._bus = bus
        self._projection = projection

    @property
    def state(self) -> SessionState:
        """The session's state now."""
        return self._projection.state

    @property
    def id(self) -> e.TaskId:
        """Empty outside of a task."""
        return origin.current().task_id

    @property
    def latest(self) -> TaskState | None:
        """The present task; outside of one the newest of the session, running or ended."""
        state, task_id = self.state, self.id
        if not task_id:
            return state.task
        return next((task for task in reversed(state.tasks) if task.task_id == task_id), None)

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that the session knows."""
        return frozenset(str(card.name) for card in self.state.library)

    @property
    def agent(self) -> e.AgentStarted | None:
        """The order of the present agent; None for the lead."""
        if not (agent_id := origin.delegate()):
            return None
        orders = of_kind(self._bus.history.newest(e.AgentStarted), e.AgentStarted)
        return next((order for order in orders if order.agent_id == agent_id), None)

    def owns(self, envelope: Envelope) -> bool:
        """Return whether an event is of the present task, and of the present agent of it."""
        return envelope.belongs_to(self.id) and envelope.delegate == origin.delegate()

    @property
    def text(self) -> str:
        """The task in the person's own words; for an agent that was handed a part, that part."""
        if agent := self.agent:
            return agent.goal
        return self.text_of(self.latest.task_id) if self.latest else ""

    @property
    def improves(self) -> str:
        """The proposal that the task builds; empty for a task of a person."""
        task_id = self.latest.task_id if self.latest else e.NO_TASK
        submitted = self._submitted(task_id)
        return submitted.improves if submitted else ""

    def text_of(self, task_id: e.TaskId) -> str:
        """Return a task in the person's own words; empty for an unknown task."""
        submitted = self._submitted(task_id)
        return submitted.text if submitted else ""

    def _submitted(self, task_id: e.TaskId) -> e.TaskSubmitted | None:
        """Return the event that begins a task; mostly one of the last."""
        tasks = of_kind(self._bus.history.newest(e.TaskSubmitted), e.TaskSubmitted)
        return next((task for task in tasks if task.task_id == task_id), None)

    def again(self, task_id: e.TaskId, *, retried: bool = False) -> SubmitTask:
        """Return the command that resumes an earlier task."""
        files = next((task.files for task in self.state.tasks if task.task_id == task_id), ())
        return SubmitTask(text=self.text_of(task_id), files=files, again=task_id, retried=retried)

    def events(self) -> list[Envelope]:
        """Return the present agent's events since the task was submitted, the newest first."""
        task_id, agent_id = self.latest.task_id if self.latest else e.NO_TASK, origin.delegate()
        events = []
        for envelope in reversed(self._bus.history):
            if _begins(envelope, task_id):
                break
            if envelope.belongs_to(task_id) and envelope.delegate == agent_id:
                events.append(envelope)
        return events

    def before(self) -> list[Envelope]:
        """Return what is recorded of the tasks that this one continues, the oldest first."""
        chain = [] if origin.delegate() else self.chain()[1:]
        earlier: list[Envelope] = []
        for envelope in reversed(self._bus.history) if chain else ():
            if any(map(envelope.belongs_to, chain)) and not envelope.delegate:
                earlier.append(envelope)
            if _begins(envelope, chain[-1]):
                break
        return earlier[::-1]

    def chain(self) -> list[e.TaskId]:
        """Return the id of the task, of the one that it continues, and so on."""
        return chain_of(self.latest.task_id if self.latest else e.NO_TASK, self.state)

    def builds(self) -> tuple[BuildState, ...]:
        """Return the builds of the task and of the parked tasks that it continues."""
        chain = self.chain()
        return tuple(build for build in self.state.builds if build.task_id in chain)

    def newest(self, *kinds: type[E]) -> Iterator[E]:
        """Yield the present agent's events of some kinds in the task and those that it continues, the newest first."""
        chain, agent_id = self.chain(), origin.delegate()
        for envelope in self._bus.history.newest(
            *cast(tuple[type[e.SessionEvent], ...], kinds), e.TaskSubmitted
        ):
            of_agent = envelope.task_id in chain and envelope.delegate == agent_id
            if of_agent and isinstance(envelope.event, kinds):
                yield envelope.event
            if _begins(envelope, chain[-1]):
                return  # earlier events are of other tasks, and may be many

    def plan(self, task_id: e.TaskId) -> e.PlanProposed | None:
        """Return a task's newest plan."""
        for envelope in self._bus.history.newest(e.PlanProposed, e.TaskSubmitted):
            if isinstance(envelope.event, e.PlanProposed) and envelope.event.task_id == task_id:
                return envelope.event
            if _begins(envelope, task_id):
                break
        return None

    def recipe(self, task_id: e.TaskId) -> str:
        """Return the item id of the recipe that a task's plan follows; empty for none."""
        plan = self.plan(task_id)
        return plan.recipe if plan else ""


def _begins(envelope: Envelope, task_id: e.TaskId) -> bool:
    """Return whether a task begins here."""
    return isinstance(envelope.event, e.TaskSubmitted) and envelope.event.task_id == task_id


def chain_of(task_id: e.TaskId, state: SessionState) -> list[e.TaskId]:
    """Return the id of a task, of the one that it continues, and so on."""
    continues = {task.task_id: task.again for task in state.tasks}
    chain: list[e.TaskId] = []
    while task_id and task_id not in chain:
        chain.append(task_id)
        task_id = continues.get(task_id, e.NO_TASK)
    return chain


def successors(tasks: Iterable[TaskState]) -> dict[e.TaskId, e.TaskId]:
    """Return, for each task that a later task continues, the id of the later one."""
    return {task.again: task.task_id for task in tasks if task.again}


def latest_successor(task_id: e.TaskId, continued_by: dict[e.TaskId, e.TaskId]) -> e.TaskId:
    """Return the id of the last task in a chain of tasks that continue one another."""
    while task_id in continued_by:
        task_id = continued_by[task_id]
    return task_id


def why_not_again(task: TaskState | None) -> str:
    """Return why a session's last task cannot be tried again; empty when it can."""
    if task is None:
        return "There is no task in this session yet."
    if task.outcome in RETRIABLE:
        return ""
    state = _FINAL.get(task.outcome, "goes on already") if task.outcome else "goes on already"
    return f"Nothing is tried again: the last task {state}."


def why_not_retried(task_id: e.TaskId, state: SessionState) -> str:
    """Return why one of a session's tasks cannot be tried again; empty when it can."""
    continued = task_id in successors(state.tasks) or any(queued.again == task_id for queued in state.queue)
    if continued:
        return "It was taken up again already."
    task = next((task for task in state.tasks if task.task_id == task_id), None)
    return why_not_again(task).replace("the last task", "that task") if task else "There is no such task."
