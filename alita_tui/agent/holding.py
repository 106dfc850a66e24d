"""Holds the unfinished work of an opened session until the person continues it; they may steer it first."""

from __future__ import annotations

from collections.abc import Callable

from alita_tui import events as e
from alita_tui.agent.steering import Steering
from alita_tui.agent.unfinished_work import UnfinishedWork
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


class Holding:
    """Holds the work that an earlier process left until the person lets it continue."""

    def __init__(
        self,
        bus: Bus,
        unfinished_work: UnfinishedWork,
        steering: Steering,
        submit: Callable[[Command], None],
    ) -> None:
        """`submit` hands a command to the orchestrator again."""
        self._bus = bus
        self._unfinished_work = unfinished_work
        self._steering = steering
        self._submit = submit
        self._held: e.WorkHeld | None = None
        self._early: list[ResolveApproval | PutOff | AnswerQuestion] = []
        """Decisions that arrived while work was held; each is submitted again once something waits for it."""

    def __bool__(self) -> bool:
        """Return whether work is held."""
        return self._held is not None

    def begin(self, *, hold: bool) -> None:
        """Resume the unfinished work; with `hold`, work that would continue at once is held."""
        held = self._unfinished_work.would_continue() if hold else e.WorkHeld()
        if held.tasks or held.queued:
            self._held = held
            self._bus.hint(held)
        else:
            self._unfinished_work.resume()

    def _release(self) -> None:
        self._held = None
        self._bus.hint(e.WorkHeld())
        self._unfinished_work.resume()

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
