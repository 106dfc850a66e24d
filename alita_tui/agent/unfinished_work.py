"""Resumes the work that an earlier process left unfinished in a session, or holds it until the person continues it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence

from alita_tui import events as e
from alita_tui.agent.budget import declined
from alita_tui.agent.build_jobs import BuildJobs
from alita_tui.agent.lessons import Lessons
from alita_tui.agent.outcomes import Outcomes
from alita_tui.agent.questions import Questions
from alita_tui.agent.steering import Steering
from alita_tui.agent.task_queue import TaskQueue
from alita_tui.agent.task_runner import TaskRunner
from alita_tui.agent.tasks import UNFINISHED, CurrentTask, latest_successor, successors
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import (
    AnswerQuestion,
    CancelTask,
    Command,
    Continue,
    Interrupt,
    PutOff,
    ResolveApproval,
    Steer,
)
from alita_tui.spine.origin import in_task, working_on
from alita_tui.state.session import SessionState, TaskState

_LEARNED_AGAIN = 16
"""How many of the tasks that ended last are learned from again: as many as may run side by side."""
Start = Callable[[e.TaskId, Coroutine[None, None, None]], None]
"""Called with a task's id and its work."""


class UnfinishedWork:
    """Resumes builds that were put off, tasks that ran, and tasks that waited.

    Held work waits for the person, who may steer it first.
    """

    def __init__(
        self,
        bus: Bus,
        task: CurrentTask,
        queue: TaskQueue,
        jobs: BuildJobs,
        runner: TaskRunner,
        lessons: Lessons,
        outcomes: Outcomes,
        questions: Questions,
        steering: Steering,
        start: Start,
        submit: Callable[[Command], None],
    ) -> None:
        """`submit` hands a command to the orchestrator again."""
        self._bus = bus
        self._task = task
        self._queue = queue
        self._jobs = jobs
        self._runner = runner
        self._lessons = lessons
        self._outcomes = outcomes
        self._questions = questions
        self._steering = steering
        self._start = start
        self._submit = submit
        self._held: e.WorkHeld | None = None
        self._early: list[ResolveApproval | PutOff | AnswerQuestion] = []
        """Decisions that arrived while work was held; each is submitted again once something waits for it."""

    @property
    def held(self) -> bool:
        """Whether work is held."""
        return self._held is not None

    def begin(self, *, hold: bool) -> None:
        """Resume the unfinished work; with `hold`, work that would continue at once is held."""
        held = self._would_continue() if hold else e.WorkHeld()
        if held.tasks or held.queued:
            self._held = held
            self._bus.hint(held)
        else:
            self._resume()

    def _release(self) -> None:
        self._held = None
        self._bus.hint(e.WorkHeld())
        self._resume()

    async def handled(self, command: object) -> bool:
        """Carry out a command that means something else while work is held; return False for any other command."""
        if self._held is None:
            return isinstance(command, Continue)  # no work is held any more
        tasks = self._held.tasks
        match command:
            case Continue():
                self._release()
            case Steer(task_id=task_id) if tasks and task_id in ("", *tasks):
                await self._steering.steer(command, tasks)
            case Interrupt(task_id=task_id) if tasks and task_id in ("", *tasks):
                await self._stop(tasks)
            case CancelTask(task_id=task_id) if task_id in tasks:
                await self._stop(tasks)
            case ResolveApproval() | PutOff() | AnswerQuestion():
                self._early.append(command)
                self._release()
            case _:
                return False
        return True

    async def _stop(self, tasks: tuple[e.TaskId, ...]) -> None:
        """End the held work: each task sees that it was stopped when it is resumed."""
        for task_id in tasks:
            with working_on(in_task(task_id)):
                await self._bus.emit(e.Interrupted())
        self._release()

    def resubmit(self, approval_id: str = "") -> None:
        """Submit the decision again that arrived too early for this build, or (without an id) for a question.

        Called when the build or question begins to wait for the person.
        """
        for command in tuple(self._early):
            about = "" if isinstance(command, AnswerQuestion) else command.approval_id
            if about == approval_id:
                self._early.remove(command)
                self._submit(command)

    def _would_continue(self) -> e.WorkHeld:
        """Return the work that would continue at once, without waiting for the person."""
        state = self._task.state
        waiting = {
            latest_successor(build.task_id, successors(state.tasks))
            for build in state.builds
            if build.status == "pending" and not build.put_off
        }
        waiting |= {lane.task_id for lane in state.lanes if lane.question is not None}
        waiting |= {state.focus} if state.question is not None else set()
        by_id = {task.task_id: task for task in state.tasks}
        tasks = tuple(
            task_id
            for task_id in self._running(state)
            if by_id[task_id].outcome is None and task_id not in waiting
        )
        return e.WorkHeld(tasks=tasks, queued=0 if state.paused else len(state.queue))

    @staticmethod
    def _running(state: SessionState) -> tuple[e.TaskId, ...]:
        """Return the tasks that had not ended."""
        newest = state.task
        if newest is None or state.running:
            return state.running
        unfinished = newest.outcome in UNFINISHED and newest.task_id == state.focus
        return (newest.task_id,) if unfinished else ()

    def _resume(self) -> None:
        """Resume all of it."""
        state = self._task.state
        newest = state.task
        if newest is not None:
            running = self._running(state)
            self._questions.earlier_question = state.asked.question_id if state.asked else ""
            self._resume_put_off(running)
            for task_id in running:
                self._resume_task(next(task for task in state.tasks if task.task_id == task_id))
            if ended := self._ended_last(newest):
                self._start(ended[0], self._remember(ended))
        self._queue.restore(state)

    def _resume_task(self, task: TaskState) -> None:
        if task.outcome == "budget" and not self._questions.parks and declined(self._bus.history):
            return  # the person is not asked twice, and without a console there is no person to ask
        self._start(task.task_id, self._runner.resume(task.task_id))

    def _resume_put_off(self, continuing: Collection[e.TaskId]) -> None:
        """Resume builds that were put off, and queue parked tasks that no longer wait for anything.

        `continuing` are the tasks that continue by themselves.
        """
        waiting = self._jobs.resume_put_off(continuing)
        tasks = self._task.state.tasks
        continued = successors(tasks)
        for task in tasks:
            if task.outcome == "parked" and task.task_id not in (*continued, *waiting, *continuing):
                self._queue.add(self._task.again(task.task_id))

    def _ended_last(self, newest: TaskState) -> list[e.TaskId]:
        """Return the tasks that a kill may have kept from being learned from, the newest first.

        A task is learned from after its end, while others still run, so not only the last one may be missing.
        """
        ended = [newest.task_id] if newest.outcome not in UNFINISHED else []
        for envelope in self._bus.history.newest(e.TaskFinished):
            if len(ended) >= _LEARNED_AGAIN:
                break
            match envelope.event:
                case e.TaskFinished(task_id=task_id, outcome=outcome) if outcome not in UNFINISHED:
                    ended += [task_id] if task_id not in ended else []
                case _:
                    pass
        return ended

    async def _remember(self, task_ids: Sequence[e.TaskId]) -> None:
        """Learn from tasks, the last one first; stored items stay as they are."""
        for task_id in reversed(task_ids):
            with working_on(in_task(task_id)):
                await self._outcomes.settle(task_id)
                if not self._task.improves:
                    await self._lessons.remember(task_id)
