"""The actions `delegate` and `report`: one agent gives part of its task to another and waits for the report.

The new agent runs in an asyncio task of its own, and its events carry its id. It sees its goal and the inputs it was
given, not the conversation. It can spend only its share of the budget, and it must report before its deadline; waiting
for a free slot counts. If it fails, the agent that asked is notified, and the other agents continue.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.acting import Handler
from alita_tui.agent.actions import Action, Delegate, Report
from alita_tui.agent.build_jobs import BuildJobs
from alita_tui.agent.call_budget import CallBudget
from alita_tui.agent.context_window import WorkingContext
from alita_tui.agent.notices import unexpected
from alita_tui.agent.references import References
from alita_tui.agent.role import Role, Roles
from alita_tui.agent.specialist import SpecialistLoop
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.events import AgentInput, AgentOutcome, Value
from alita_tui.spine import origin
from alita_tui.spine.agent_laws import DEEPEST
from alita_tui.spine.bus import Bus
from alita_tui.spine.cancellation import finish
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import (
    AlitaError,
    ApprovalPending,
    BudgetExceeded,
    RegistryError,
    SandboxUnavailable,
    StoreError,
)
from alita_tui.spine.origin import Origin, working_on
from alita_tui.spine.text import clip, one_line

_MOST = 12
"""Most parts that one agent may delegate; second attempts do not count."""
_HANDED = 20_000
"""Characters of an observation that an agent is given as input."""
_RETRIED: frozenset[AgentOutcome] = frozenset(("failed", "stuck", "step_limit"))
"""Outcomes after which the part is tried once more, by a new agent."""
_GRACE = 60.0
"""Seconds added to a deadline that passes while the agent waits for the person."""
_EVENT = re.compile(r"e(\d{1,9})")
_OUTCOMES: Mapping[e.TaskOutcome, AgentOutcome] = {
    "answered": "reported", "stuck": "stuck", "step_limit": "step_limit", "interrupted": "interrupted",
    "parked": "parked", "budget": "budget",
}  # fmt: skip


class _End(Value, frozen=True):
    outcome: AgentOutcome
    reason: str = ""
    final: bool = False
    """True if trying again would not help."""


class Delegation:
    """Handles the actions `delegate` and `report`, and tracks the running agents."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        context: WorkingContext,
        references: References,
        jobs: BuildJobs,
        roles: Roles,
        budget: CallBudget,
        loop_of: Callable[[Role, int], SpecialistLoop],
        *,
        parallel: int,
    ) -> None:
        """`loop_of` makes the loop of an agent from its role and depth; up to `parallel` agents work for one."""
        self._bus = bus
        self._task = task
        self._context = context
        self._references = references
        self._jobs = jobs
        self._roles = roles
        self._budget = budget
        self._loop_of = loop_of
        self._parallel = parallel
        self._semaphores: dict[tuple[str, str], asyncio.Semaphore] = {}
        """(Task, agent) -> limits how many agents work for it at a time."""
        self._working: dict[e.AgentId, tuple[e.TaskId, asyncio.Task[_End]]] = {}
        """Agent -> the id of its task, and the asyncio task it runs in."""
        self._stopped: set[e.AgentId] = set()
        self._deadlines: dict[e.AgentId, float] = {}
        self._reports: dict[e.AgentId, Report] = {}
        self._parked: dict[e.AgentId, ApprovalPending] = {}
        self._numbered = 0

    @property
    def table(self) -> Mapping[type[Action], Handler]:
        """The handlers by action."""
        return {Delegate: self.delegate, Report: self.report}

    def working(self, task_id: e.TaskId) -> Sequence[e.AgentId]:
        """Return the agents that work for a task, in the order in which they began."""
        return [agent_id for agent_id, (of_task, _) in self._working.items() if of_task == task_id]

    def interrupt(self, agent_id: e.AgentId) -> bool:
        """Stop an agent and all agents that work for it; return False if it was not running."""
        if agent_id not in self._working or agent_id in self._stopped:
            return False
        self._stopped.add(agent_id)
        self._working[agent_id][1].cancel()
        return True

    def may(self, tool: str) -> bool:
        """Return whether the current agent may use a tool of the library."""
        agent = self._task.agent
        return agent is None or self._roles[agent.role].allows(tool)

    def origin_of(self, agent_id: e.AgentId) -> Origin:
        """Return the origin that a running agent's events carry."""
        order = next(
            envelope
            for envelope in self._bus.history.newest(e.AgentStarted)
            if isinstance(envelope.event, e.AgentStarted) and envelope.event.agent_id == agent_id
        )
        return Origin(task_id=order.task_id, agent_id=agent_id, span=agent_id, parent=order.parent)

    # --- delegating -----------------------------------------------------------------------

    async def delegate(self, action_id: str, action: Delegate) -> None:
        """Delegate a part and wait until it has ended. Raises RegistryError, ApprovalPending, StoreError."""
        role = self._roles[action.role]
        current_agent = self._task.agent
        depth = (current_agent.depth if current_agent else 0) + 1
        if depth > DEEPEST:
            raise RegistryError(f"A part can be handed on {DEEPEST} times at most.", hint="Do it yourself.")
        if self._delegated_count() >= _MOST:
            raise RegistryError(f"No more than {_MOST} parts are handed on.", hint="Do the rest yourself.")
        deadline = min(self._now + role.minutes * 60, self._deadlines.get(origin.delegate(), float("inf")))
        order = e.AgentStarted(
            agent_id=self._name(role.name),
            action_id=action_id,
            role=role.name,
            goal=action.goal,
            done_when=action.done_when or role.done_when,
            handed=await asyncio.to_thread(lambda: tuple(map(self._input, action.inputs))),
            depth=depth,
            usd=action.budget_usd,
            seconds=round(deadline - self._now, 3),
            steps=role.steps,
        )
        order = await self._begin_agent(order, role)
        end = await self._attempt(order, role, deadline)
        if end.outcome in _RETRIED and not end.final and self._now < deadline:
            await self._record_end(order, end, retried=True)
            spent = self._budget.taken(order.agent_id)
            retry = replace(
                order,
                agent_id=self._name(role.name),
                attempt=2,
                because=end.reason,
                usd=None if order.usd is None else max(order.usd - spent.usd, 0.0),
                tokens=None if order.tokens is None else max(order.tokens - spent.tokens, 0),
                seconds=round(deadline - self._now, 3),
            )
            order = await self._begin_agent(retry, role)
            end = await self._attempt(order, role, deadline)
        await self._record_end(order, end)
        if parked := self._parked.pop(order.agent_id, None):
            raise parked

    async def _begin_agent(self, order: e.AgentStarted, role: Role) -> e.AgentStarted:
        """Reserve a share and record that the agent begins: both or neither. Raises RegistryError."""
        handing = asyncio.ensure_future(self._budget.hand_out(order, role.share))
        try:
            return await asyncio.shield(handing)
        except BudgetExceeded as error:
            raise RegistryError(error.message, hint="Do it yourself, or go on without it.") from error
        except asyncio.CancelledError:
            with suppress(
                asyncio.CancelledError, Exception
            ):  # cancelled a second time, when the session closes while its task is stopped
                await finish(handing)
            if not handing.cancelled() and handing.exception() is None:
                await self._record_end(
                    handing.result(), _End("interrupted", "It was stopped before it began.")
                )
            raise

    def _input(self, name: str) -> AgentInput:
        """Return an input of the new agent: an event that the current one saw, or an artefact. Raise RegistryError."""
        if match := _EVENT.fullmatch(name.strip()):
            text = self._context.again(int(match[1]), 0)
            if not text:
                raise RegistryError(f"Event {match[1]} holds no observation.")
            return AgentInput(name=name.strip(), text=clip(text, _HANDED)[0])
        return AgentInput(name=name, handle=self._references.artefact(name).handle)

    def _delegated_count(self) -> int:
        """Return how many parts the current agent has delegated."""
        current_id, task_id = origin.delegate(), origin.current().task_id
        return sum(
            isinstance(envelope.event, e.AgentStarted) and envelope.event.attempt == 1
            for envelope in self._bus.history.of(e.AgentStarted)
            if envelope.task_id == task_id and envelope.delegate == current_id
        )

    def _name(self, role: str) -> e.AgentId:
        """Return a new agent id, unique in the session."""
        if not self._numbered:
            self._numbered = sum(1 for _ in self._bus.history.of(e.AgentStarted))
        self._numbered += 1
        return e.AgentId(f"{role}-{self._numbered}")

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # --- working --------------------------------------------------------------------------

    async def _attempt(self, order: e.AgentStarted, role: Role, deadline: float) -> _End:
        """Run an agent until it ends, is stopped or misses its deadline. Raises StoreError."""
        agent_id = order.agent_id
        work = asyncio.create_task(self._work(order, role), name=f"alita agent {agent_id}")
        self._working[agent_id] = origin.current().task_id, work
        self._deadlines[agent_id] = deadline
        late = False
        try:
            while not work.done():
                await asyncio.wait((work,), timeout=max(deadline - self._now, 0.0))
                if work.done() or self._now < deadline:
                    continue
                if self._waits_for_person(agent_id):
                    deadline = self._deadlines[agent_id] = self._now + _GRACE
                    continue
                late = True
                work.cancel()
                await asyncio.wait((work,))
        except asyncio.CancelledError:
            work.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await finish(work)
            await self._record_end(order, _End("interrupted", "It was stopped with what it worked for."))
            raise
        finally:
            del self._working[agent_id], self._deadlines[agent_id]
        if late and (work.cancelled() or work.result().outcome != "reported"):
            return _End("late", f"It had {order.seconds:.0f} seconds.")
        if work.cancelled():
            self._stopped.discard(agent_id)
            return _End("interrupted", "The person stopped it.")
        return work.result()

    async def _work(self, order: e.AgentStarted, role: Role) -> _End:
        current = origin.current()
        semaphore = self._semaphores.setdefault(
            (current.task_id, current.agent_id), asyncio.Semaphore(self._parallel)
        )
        with working_on(self.origin_of(order.agent_id)):
            try:
                async with semaphore:
                    end = _end_of(await self._loop_of(role, order.depth).run())
            except asyncio.CancelledError:
                await self._withdraw_work()
                raise
            except BudgetExceeded as error:
                end = _End("budget", error.message)
            except ApprovalPending as error:
                self._parked[order.agent_id] = error
                return _End("parked", error.message)
            except SandboxUnavailable as error:
                end = _End("failed", error.message, final=True)
            except StoreError:
                raise
            except AlitaError as error:
                end = _End("failed", error.message)
            except Exception as error:  # noqa: BLE001  # recorded; the other agents work on
                notice = unexpected(error)
                await self._bus.emit(notice)
                end = _End("failed", notice.text)
            if end.outcome != "reported":
                await self._withdraw_work()
            return end

    async def _withdraw_work(self) -> None:
        """Stop the current agent's builds and withdraw its questions to the person."""
        await self._jobs.cancel(self._task.id, origin.delegate())
        await self._jobs.withdraw()

    def _waits_for_person(self, agent_id: e.AgentId) -> bool:
        with working_on(self.origin_of(agent_id)):
            return self._jobs.awaited

    async def _record_end(self, order: e.AgentStarted, end: _End, *, retried: bool = False) -> None:
        """Record how an agent ended, even if the caller is cancelled meanwhile."""
        agent_id = order.agent_id
        report = self._reports.pop(agent_id, None) if end.outcome == "reported" else None
        spent = self._budget.taken(agent_id)
        steps = next(
            (envelope.step for envelope in reversed(self._bus.history) if envelope.delegate == agent_id), 0
        )
        ended = e.AgentEnded(
            agent_id=agent_id,
            action_id=order.action_id,
            outcome=end.outcome,
            result=report.result if report else "",
            artefacts=report.artefacts if report else (),
            evidence=report.evidence if report else (),
            missing=report.missing if report else "",
            reason=end.reason,
            usd=spent.usd,
            tokens=spent.tokens,
            steps=steps,
            retried=retried,
        )
        await finish(self._bus.emit(ended, span=agent_id))

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

    # --- reporting ------------------------------------------------------------------------

    async def report(self, action_id: str, action: Report) -> TaskEnd:
        """Accept an agent's report. Raises RegistryError if it names artefacts or evidence that are not its own."""
        if not origin.delegate():
            raise RegistryError("You lead the task: call `answer`.")
        artefacts = await asyncio.to_thread(
            lambda: tuple(self._references.artefact(name).handle for name in action.artefacts)
        )
        evidence = await asyncio.to_thread(lambda: tuple(map(self._evidence, action.evidence)))
        self._reports[origin.delegate()] = replace(
            action, artefacts=tuple(dict.fromkeys(artefacts)), evidence=tuple(dict.fromkeys(evidence))
        )
        return TaskEnd("answered", answer=action.result)

    def _evidence(self, name: str) -> str:
        """Return evidence in the form that is recorded. Raise RegistryError if the agent never saw it."""
        name = name.strip()
        if match := _EVENT.fullmatch(name):
            if self._context.again(int(match[1]), 0):
                return name
        elif name.startswith(("http://", "https://")):
            pages = self._task.newest(e.PageRead, e.WebSearched)
            if any(name in _addresses(page) for page in pages):
                return name
        else:
            return self._references.artefact(name).handle
        raise RegistryError(
            f"Nothing of your work is {one_line(name, 200)!r}.",
            hint="Evidence is an event (e41), a page that you read or found, or a file of yours.",
        )


def _addresses(event: object) -> tuple[str, ...]:
    match event:
        case e.PageRead(url=url, asked=requested_url):
            return url, requested_url
        case e.WebSearched(results=results):
            return tuple(result.url for result in results)
        case _:
            return ()


def _end_of(end: TaskEnd) -> _End:
    return _End(_OUTCOMES.get(end.outcome, "failed"), end.reason)


def _origin_of_event(envelope: Envelope) -> Origin:
    """Return the origin of an event, for the event that ends what it began."""
    return Origin(
        task_id=envelope.task_id,
        agent_id=envelope.agent_id,
        step=envelope.step,
        span=envelope.span,
        parent=envelope.parent,
    )
