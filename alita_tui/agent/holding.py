"""Unfinished work of a session that was opened: it waits until the person continues it, who may steer it first."""

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
    """Holds what an earlier process left, and lets it go on when the person says so."""

    def __init__(
        self,
        bus: Bus,
        taking_up: TakingUp,
        steering: Steering,
        again: Callable[[Command], None],
    ) -> None:
        """`again` hands a command in once more."""
        self._bus = bus
        self._taking_up = taking_up
        self._steering = steering
        self._again = again
        self._held: e.WorkHeld | None = None
        self._early: list[ResolveApproval | PutOff | AnswerQuestion] = []
        """Decisions that came while work was held; each is handed in again once somebody waits for it."""

    def __bool__(self) -> bool:
        """Return whether work is held."""
        return self._held is not None

    def begin(self, *, hold: bool) -> None:
        """Take up what was left, or with `hold` let it wait if it would go on by itself."""
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
        """Carry out a command that means something of its own while work is held; return False for any other."""
        if self._held is None:
            return isinstance(command, Continue)  # it goes on already
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
        """End what is held: each task finds that it was stopped when it is taken up."""
        for task_id in tasks:
            with working_on(in_task(task_id)):
                await self._bus.emit(e.Interrupted())
        self._release()

    def waits(self, approval_id: str = "") -> None:
        """Somebody waits for a verdict on this build, or for an answer: hand in what was decided before."""
        for command in tuple(self._early):
            about = "" if isinstance(command, AnswerQuestion) else command.approval_id
            if about == approval_id:
                self._early.remove(command)
                self._again(command)
