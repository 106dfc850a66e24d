"""Earlier tasks of a session as a later one is shown them: what was asked, how it ended, where the results are.

What is told stays the same while the later task goes on, whatever tasks beside it do meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from alita_tui import events as e
from alita_tui.agent.context import Entry
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.models import Message
from alita_tui.spine.text import clip, one_line

EARLIER_HEAD = "Earlier in this session"
EARLIER = "earlier"
"""Name of the turn that stands for earlier tasks."""
_RECENT, _OLDER = 5, 30
"""Tasks that are told in full, and those before them that are told in a line."""
_ASKED, _ANSWERED = 600, 1_500
_LINE = 140
_SOURCES = 8
"""Observations that are named for a task."""


@dataclass
class _Task:
    seq: int
    task_id: str
    text: str
    end: str = ""
    answer: str = ""
    ended: int = 0
    """The event of its end; 0 while it has none."""
    sources: dict[str, int] = field(default_factory=dict)
    """What was observed -> the newest event that holds it."""


class EarlierTasks:
    """Hears a session; knows what came of the tasks before another one."""

    def __init__(self) -> None:
        self._tasks: list[_Task] = []
        self._places: dict[str, int] = {}
        self._calls: dict[str, str] = {}

    def hear(self, envelope: Envelope) -> None:
        """Take in the next event."""
        event, seq = envelope.event, envelope.seq or 0
        match event:
            case e.TaskSubmitted(task_id=task_id, text=text):
                self._places[task_id] = len(self._tasks)
                self._tasks.append(_Task(seq, task_id, text))
            case e.TaskFinished(outcome=outcome, answer=answer, reason=reason) if self._tasks:
                task = self._task(event.task_id)
                task.end, task.answer, task.ended = outcome, answer or reason, seq
            case e.ToolCalled(call_id=call_id, name=name, depth=0):
                self._calls[call_id] = name
            case e.ToolReturned(call_id=call_id, depth=0):
                self._source(envelope, f"run of {self._calls.pop(call_id, '')}")
            case e.ToolRegistered(card=card):
                self._source(envelope, f"built {card.name} v{card.version}")
            case e.PageRead(url=url):
                self._source(envelope, str(one_line(url, 100)))
            case _:
                pass

    def _task(self, task_id: str) -> _Task:
        """Return a task; in schema 1 what follows a task belongs to it."""
        return self._tasks[self._places.get(task_id, -1)]

    def _source(self, envelope: Envelope, what: str) -> None:
        if self._tasks:
            self._task(envelope.task_id).sources[what] = envelope.seq or 0

    def before(self, chain: Collection[str], began: int) -> tuple[Entry, ...]:
        """Return one turn for the tasks before the newest of a chain of tasks that continue one another.

        `began` is the event with which the chain begins. Without such tasks there is no turn.
        """
        newest = max((self._places[task_id] for task_id in chain if task_id in self._places), default=0)
        tasks = [task for task in self._tasks[:newest] if task.task_id not in chain]
        if not tasks:
            return ()
        now = self._tasks[newest].seq
        told = Message(
            role="user",
            text=self._told([_as_of(now, task) for task in tasks[-_RECENT - _OLDER :]], len(tasks)),
        )
        return (Entry(seq=began - 1, message=told, name=EARLIER),)

    def _told(self, tasks: Sequence[_Task], count: int) -> str:
        recent, older = tasks[-_RECENT:], tasks[-_RECENT - _OLDER : -_RECENT]
        lines = [f"{EARLIER_HEAD} (look_back with an event's number shows what was observed):"]
        if more := count - len(recent) - len(older):
            lines.append(f"({more} tasks before these)")
        lines += [
            f"- {one_line(task.text, _LINE)} → {one_line(f'{task.end}: {task.answer}', _LINE)}"
            for task in older
        ]
        for task in recent:
            asked, answered = clip(task.text, _ASKED)[0], clip(task.answer, _ANSWERED)[0]
            lines.append(f"- {asked}\n  {task.end}: {answered}")
            sources = [f"{what}: event {seq}" for what, seq in [*task.sources.items()][-_SOURCES:]]
            lines += [f"  ({'; '.join(sources)})"] if sources else []
        return "\n".join(lines)


def _as_of(now: int, task: _Task) -> _Task:
    """Return a task as it was known at an event: what came later is left out."""
    if task.ended > now or not task.ended:
        task = replace(task, end="not ended when this task began", answer="")
    return replace(task, sources={what: seq for what, seq in task.sources.items() if seq < now})
