"""One task from its beginning, or from where an earlier process left it, to a recorded end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from alita_tui import events as e
from alita_tui.agent.blocks import ContextBlocks
from alita_tui.agent.build_jobs import BuildJobs
from alita_tui.agent.delegation import Delegation
from alita_tui.agent.director import Director
from alita_tui.agent.handlers.building import BuildHandlers
from alita_tui.agent.lessons import Lessons
from alita_tui.agent.loop import AgentLoop
from alita_tui.agent.notices import unexpected
from alita_tui.agent.outcomes import Outcomes
from alita_tui.agent.questions import Questions
from alita_tui.agent.slots import Slots
from alita_tui.agent.tasks import CurrentTask, TaskEnd
from alita_tui.spine.bus import Bus
from alita_tui.spine.cancellation import finish
from alita_tui.spine.commands import Improve, SubmitTask
from alita_tui.spine.errors import AlitaError, ApprovalPending, BudgetExceeded, SandboxUnavailable, StoreError
from alita_tui.spine.origin import Origin, in_task, working_on
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.statistics import Estimate
from alita_tui.state.lanes import Lane
from alita_tui.state.session import SessionState

_ESTIMATE_SECONDS = 2.0
"""Seconds that a task waits at most for its estimate."""


class TaskRunner:
    """Runs tasks; every end is recorded as a TaskFinished."""

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        loop: AgentLoop,
        jobs: BuildJobs,
        builds: BuildHandlers,
        lessons: Lessons,
        outcomes: Outcomes,
        questions: Questions,
        asker: Asker,
        shelf: ToolShelf,
        slots: Slots,
        blocks: ContextBlocks,
        delegation: Delegation,
        director: Director,
        estimate: Callable[[str], Estimate],
    ) -> None:
        self._bus = bus
        self._task = task
        self._loop = loop
        self._jobs = jobs
        self._builds = builds
        self._lessons = lessons
        self._outcomes = outcomes
        self._questions = questions
        self._asker = asker
        self._shelf = shelf
        self._slots = slots
        self._blocks = blocks
        self._delegation = delegation
        self._director = director
        self._estimate = estimate
        self.running: dict[e.TaskId, bool] = {}
        """The tasks that have not ended, in the order in which they began here; true once the person stopped it."""
        self._begun: dict[e.TaskId, asyncio.Event] = {}
        """Tasks that are about to begin."""

    async def on_record(self, task_id: e.TaskId, work: asyncio.Future[None]) -> None:
        """Wait until a task's beginning is recorded, or its work has failed, so that tasks begin in order."""
        begun = asyncio.ensure_future(self._begun.setdefault(task_id, asyncio.Event()).wait())
        await asyncio.wait((begun, work), return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        del self._begun[task_id]

    async def begin(self, task_id: e.TaskId, command: SubmitTask) -> None:
        """Run a new task, or one that continues a parked or failed one under a new id."""
        if command.again:
            self._jobs.hand_over(command.again, task_id)
        else:
            await self._outcomes.corrected(command.text)
        await self._run(in_task(task_id), self._new(task_id, command))

    async def improve(self, task_id: e.TaskId, command: Improve) -> None:
        """Build a proposal; the task ends with its verdict, and no model is asked for anything but the tool."""
        await self._run(in_task(task_id), self._improve(task_id, command))

    async def _improve(self, task_id: e.TaskId, command: Improve) -> TaskEnd:
        await self._submitted(e.TaskSubmitted(task_id=task_id, text=command.text, improves=command.proposal))
        return await self._builds.improve(command.order)

    async def resume(self, task_id: e.TaskId) -> None:
        """Continue a task that has not ended; its earlier steps count, but no other task's."""
        with working_on(in_task(task_id)):
            step = max((envelope.step for envelope in self._task.events()), default=0)
        await self._run(in_task(task_id, step=step), self._continue())

    async def _new(self, task_id: e.TaskId, command: SubmitTask) -> TaskEnd:
        await self._submitted(
            e.TaskSubmitted(
                task_id=task_id,
                text=command.text,
                again=command.again,
                retried=command.retried,
                queue_id=command.queue_id,
                files=command.files,
            )
        )
        await self._tell_estimate(task_id, command.text)
        await self._lessons.recall(task_id, command.text)
        await self._director.begin(command.text)
        return await self._loop.run()

    async def _submitted(self, event: e.TaskSubmitted) -> None:
        """Record that a task begins, even if it is stopped at that moment: its end needs a beginning."""
        try:
            await finish(self._bus.emit(event, span=event.task_id))
        finally:
            if begun := self._begun.get(event.task_id):
                begun.set()

    async def _tell_estimate(self, task_id: e.TaskId, text: str) -> None:
        """Record what the task is likely to cost and take, if enough similar tasks are found in time."""
        try:
            estimate = await asyncio.wait_for(asyncio.to_thread(self._estimate, text), _ESTIMATE_SECONDS)
        except (AlitaError, OSError, TimeoutError):
            return  # the task continues without an estimate
        if estimate.usd is not None or estimate.seconds is not None:
            estimated = e.TaskEstimated(
                task_id=task_id,
                tasks=estimate.count,
                alike=estimate.alike,
                usd=estimate.usd,
                seconds=estimate.seconds,
            )
            await self._bus.emit(estimated, span=task_id)

    async def _continue(self) -> TaskEnd:
        """Close what a crash or a parked build left open, then continue the loop."""
        await self._slots.wait_for_slot()
        await self._delegation.close_left(self._task.chain())
        for call_id, name in reversed(self._present().calls):  # what a tool called ends before that tool
            text = f"{name} was interrupted when the program ended; it may have run."
            await self._bus.emit(e.ToolFailed(call_id=call_id, reason="interrupted", text=text), span=call_id)
        for envelope in self._task.events():
            match envelope.event:
                case (
                    e.Interrupted()
                    | e.ApprovalResolved(verdict=e.Verdict(decision="withdrawn", via="engine"))
                ):
                    return TaskEnd(
                        "interrupted", "stopped by you"
                    )  # the process ended before it was recorded
                case _:
                    pass
        if question := self._present().question:
            await self._questions.wait(question.question_id, question.text, question.choices)
        if self._task.improves:
            return await self._conclude_improvement()
        parked: ApprovalPending | None = None
        for build in self._task.builds():
            if build.settled:
                continue
            job = self._jobs.resume(build, self._task.id)
            try:
                if not build.put_off and (end := await self._builds.follow(job)):
                    return end
            except ApprovalPending as error:
                parked = parked or error
        if parked:
            raise parked
        if len(self._jobs) and (action_id := self._unanswered_wait()):
            if end := await self._builds.wait_for_news(action_id):
                return end
        return await self._loop.run()

    def _present(self) -> Lane | SessionState:
        """Return what has the present task's fields: its lane, or the state if that describes it."""
        state = self._task.state
        return next((lane for lane in state.lanes if lane.task_id == self._task.id), state)

    async def _conclude_improvement(self) -> TaskEnd:
        """Continue the build of a proposal, or end its task if the build has ended."""
        build = next(iter(self._task.builds()[::-1]), None)
        if build is None:
            return TaskEnd("failed", "It was interrupted before its build began.")
        if not build.settled:
            return await self._builds.conclude(self._jobs.resume(build, self._task.id))
        if build.status in ("registered", "linked"):
            return TaskEnd("answered", answer=f"{build.name} v{build.version} is in the library.")
        why = build.verdict.why if build.verdict else ""
        return TaskEnd("failed" if build.status == "failed" else "rejected", why)

    def _unanswered_wait(self) -> str:
        """Return the id of the `wait` action that the process ended in; empty if something happened since."""
        for envelope in self._task.events():
            match envelope.event:
                case e.ActionChosen(action="wait", action_id=action_id):
                    return action_id
                case e.WaitEnded() | e.ActionChosen() | e.ModelReplied() | e.Steered() | e.ApprovalResolved():
                    return ""
                case _:
                    pass
        return ""

    async def _run(self, origin: Origin, work: Coroutine[None, None, TaskEnd]) -> None:
        """Await a task's work and record how it ended."""
        self.running[origin.task_id] = False
        with working_on(origin):
            try:
                end = await self._end_of(origin.task_id, work)
                self.running[origin.task_id] = True  # too late to stop it
                await self._bus.emit(end.finished(origin.task_id), span=origin.task_id)
            finally:
                self.running.pop(origin.task_id, None)
                self._blocks.end()
            self._bus.forget_spans(origin.task_id)
            if end.outcome not in ("parked", "budget"):  # those continue later
                await self._clean_up(origin.task_id, end)

    async def _end_of(self, task_id: e.TaskId, work: Coroutine[None, None, TaskEnd]) -> TaskEnd:
        """Return how a task's work ends; an error is an end, too. Raises StoreError, CancelledError."""
        try:
            return await work
        except asyncio.CancelledError:
            await self._jobs.cancel(task_id)
            if not self.running.get(task_id):
                raise
            await self._jobs.withdraw()
            await self._bus.emit(e.Interrupted(text=self._asker.unfinished))
            return TaskEnd("interrupted", "stopped by you")
        except BudgetExceeded as error:
            return TaskEnd.of("budget", error)
        except SandboxUnavailable as error:
            return TaskEnd.of("sandbox", error)
        except ApprovalPending as error:
            return TaskEnd.of("parked", error)
        except StoreError:
            raise
        except AlitaError as error:
            return TaskEnd.of("failed", error)
        except Exception as error:  # noqa: BLE001  # recorded, and the session opens again
            notice = unexpected(error)
            await self._bus.emit(notice)
            return TaskEnd("failed", notice.text, hint=notice.hint)

    async def _clean_up(self, task_id: e.TaskId, end: TaskEnd) -> None:
        """Take back the tools that were approved for this task alone, and learn from the task."""
        if self._shelf.give_back(keep=self._jobs.reserved()):
            await self._bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._shelf.cards)))
        await self._outcomes.settle(task_id)
        if not self._task.improves:  # no person asked for it, so no later task could recall it
            await self._lessons.finish(task_id, end.outcome)
            await self._outcomes.weigh(task_id)  # it may have been rated before it was written
