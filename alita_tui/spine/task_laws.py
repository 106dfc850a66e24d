"""Laws of tasks, including those that run side by side.

A task's events lie between its beginning and its end, its steps never go back, and each question is answered once, in
the task that asked it. Schema 1 names no task in its envelopes, so these laws apply from schema 2 on.
"""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.events import (
    NO_TASK,
    ActionChosen,
    AgentId,
    QuestionAnswered,
    QuestionAsked,
    TaskFinished,
    TaskId,
    TaskSubmitted,
    ToolCalled,
)
from alita_tui.spine.envelope import Envelope

_GO_ON_LATER = ("parked", "budget")
"""Outcomes after which the same task may continue."""


class TaskLaws:
    """Follows the tasks of one stream."""

    def __init__(self) -> None:
        self._ended: set[TaskId] = set()
        self._steps: dict[tuple[TaskId, AgentId], int] = {}
        """Task and agent -> its newest step."""
        self._open_questions: dict[str, TaskId] = {}
        """Open question -> its task."""
        self._continued: dict[TaskId, TaskId] = {}
        """Task -> the task that continues it."""

    def apply(self, envelope: Envelope) -> Iterator[tuple[str, str]]:
        """Take in an event; yield each law that it breaks, with how."""
        task_id = envelope.task_id
        match envelope.event:
            case TaskSubmitted(task_id=submitted, again=again):
                if again:
                    self._continued[again] = submitted
            case TaskFinished(task_id=finished, outcome=outcome):
                if finished in self._ended:
                    yield "one end per task", f"task {finished} had ended"
                if outcome not in _GO_ON_LATER:
                    self._ended.add(finished)
            case ActionChosen(action_id=action_id) if task_id:
                if task_id in self._ended:
                    yield "act before the end", f"{action_id} was chosen in task {task_id}, which had ended"
                actor = task_id, envelope.agent_id
                if envelope.step < self._steps.get(actor, 0):
                    yield "steps go on", f"{action_id} is of an earlier step of task {task_id}"
                self._steps[actor] = max(envelope.step, self._steps.get(actor, 0))
            case ToolCalled(call_id=call_id) if task_id in self._ended:
                yield "act before the end", f"call {call_id} began in task {task_id}, which had ended"
            case QuestionAsked(question_id=question_id) if task_id:
                self._open_questions[question_id] = task_id
            case QuestionAnswered(question_id=question_id) if task_id:
                asker = self._open_questions.pop(question_id, NO_TASK)
                if asker not in (task_id, *self._predecessors(task_id)):
                    yield "answer what was asked", f"task {task_id} has no open question {question_id}"
            case _:
                pass

    def _predecessors(self, task_id: TaskId) -> Iterator[TaskId]:
        """Yield the tasks that a task continues."""
        continues = {later: earlier for earlier, later in self._continued.items()}
        while task_id in continues:
            task_id = continues[task_id]
            yield task_id
