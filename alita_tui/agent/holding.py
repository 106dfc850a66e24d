"""Holds the unfinished work of an opened session until the person continues it; they may steer it first."""

from __future__ import annotations

from collections.abc import Callable

from alita_tui import events as e
from alita_tui.agent.steering import Steering
from alita_tui.agent.taking_up import TakingUp
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
        taking_up: TakingUp,
        steering: Steering,
        again: Callable[[Command], None],
    ) -> None:
        """`again` submits a command once more."""
        self._bus = bus
        self._taking_up = taking_up
        self._steering = steering
        self._again = again
        self._held: e.WorkHeld | None = None
        self._early: list[ResolveApproval | PutOff | AnswerQuestion] = []
        """Decisions that arrived while work was held; each is submitted again once something waits for it."""

    def __bool__(self) -> bool:
        """Return whether work is held."""
        return self._held is not None

    def begin(self, *, hold: bool) -> None:
        """Resume the unfinished work; with `hold`, work that would continue at once is held."""
        held = self._taking_up.held() if hold else e.WorkHeld()
        if held.tasks or held.queued:
            self._held = held
            self._bus.hint(held)
        else:
            self._taking_up.all()

    def _release(self) -> None:
        self._held = None
        self._bus.hint(e.WorkHeld())
        self._taking_up.all()

    async def takes(self, command: object) -> bool:
        """Carry out a command with a special meaning while work is held; return False for any other."""
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

    async def _stop(self, tasks: tuple[str, ...]) -> None:
        """End the held work: each task sees that it was stopped when it is resumed."""
        for task_id in tasks:
            with working_on(in_task(task_id)):
                await self._bus.emit(e.Interrupted())
        self._release()

    def waits(self, approval_id: str = "") -> None:
        """Submit the earlier decision for this build or question, because something waits for it now."""
        for command in tuple(self._early):
            about = "" if isinstance(command, AnswerQuestion) else command.approval_id
            if about == approval_id:
                self._early.remove(command)
                self._again(command)
