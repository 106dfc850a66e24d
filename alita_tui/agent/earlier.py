"""Summary of a session's earlier tasks for a later one: their texts, their ends, where the results are.

The summary shows what was known when the later task began; tasks that run at the same time do not change it.
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
"""Name of the turn that summarises earlier tasks."""
_RECENT, _OLDER = 5, 30
"""Number of tasks that are summarised in full, and of those before them that get one line."""
_ASKED, _ANSWERED = 600, 1_500
_LINE = 140
_SOURCES = 8
"""Observations that are named for a task."""


_IN_MEMORY = 2 * (_RECENT + _OLDER)
"""Newest tasks in memory: more than are shown, because the tasks that the newest one continues are skipped."""


@dataclass
class _Task:
    task_id: e.TaskId
    text: str
    end: str = ""
    answer: str = ""
    ended: int = 0
    """The event of its end; 0 while it has none."""
    sources: dict[str, int] = field(default_factory=dict)
    """Observation -> the newest event that contains it."""


class EarlierTasks:
    """Reads a session's events; knows the outcomes of the tasks before the newest one."""

    def __init__(self) -> None:
        self._tasks: dict[e.TaskId, _Task] = {}
        """The newest ones by id, the oldest first."""
        self._count = 0
        self._calls: dict[str, str] = {}
        """Call that has not ended -> its tool."""

    def apply(self, envelope: Envelope) -> None:
        """Take in the next event."""
        event, seq = envelope.event, envelope.seq or 0
        match event:
            case e.TaskSubmitted(task_id=task_id, text=text):
                self._tasks[task_id] = _Task(task_id, text)
                self._count += 1
                if len(self._tasks) > _IN_MEMORY:
                    del self._tasks[next(iter(self._tasks))]
            case e.TaskFinished(task_id=task_id, outcome=outcome, answer=answer, reason=reason):
                if task := self._tasks.get(task_id):
                    task.end, task.answer, task.ended = outcome, answer or reason, seq
            case e.ToolCalled(call_id=call_id, name=name, depth=0):
                self._calls[call_id] = name
            case e.ToolReturned(call_id=call_id, depth=0):
                self._source(envelope, f"run of {self._calls.pop(call_id, '')}")
            case e.ToolFailed(call_id=call_id):
                self._calls.pop(call_id, None)
            case e.ToolRegistered(card=card):
                self._source(envelope, f"built {card.name} v{card.version}")
            case e.PageRead(url=url):
                self._source(envelope, str(one_line(url, 100)))
            case _:
                pass

    def _source(self, envelope: Envelope, label: str) -> None:
        """Remember an observation of a task; in schema 1 events belong to the task before them."""
        if task := self._tasks.get(envelope.task_id or next(reversed(self._tasks), e.NO_TASK)):
            task.sources[label] = envelope.seq or 0

    def before(self, chain: Collection[str], now: int) -> Before:
        """Return the summary of the tasks before the newest one, which was submitted by the event `now`.

        `chain` are the tasks that continue one another up to the newest; they are left out.
        """
        tasks = [task for task in self._tasks.values() if task.task_id not in chain]
        return Before(tasks[-_RECENT - _OLDER :], self._count - len(chain), now)


class Before:
    """The tasks before another task, as of its beginning."""

    def __init__(self, tasks: Sequence[_Task] = (), count: int = 0, now: int = 0) -> None:
        """`tasks` are the newest of `count`; the later task began with the event `now`."""
        self._tasks = tasks
        self._count = count
        self._now = now

    def entries(self, seq: int) -> tuple[Entry, ...]:
        """Return one turn about them with the number `seq`; nothing if there were none."""
        if not self._tasks:
            return ()
        tasks = [_as_of(self._now, task) for task in self._tasks]
        recent, older = tasks[-_RECENT:], tasks[:-_RECENT]
        lines = [f"{EARLIER_HEAD} (look_back with an event's number shows what was observed):"]
        if more := self._count - len(tasks):
            lines.append(f"({more} tasks before these)")
        lines += [
            f"- {one_line(task.text, _LINE)} → {one_line(f'{task.end}: {task.answer}', _LINE)}"
            for task in older
        ]
        for task in recent:
            task_text, answer = clip(task.text, _ASKED)[0], clip(task.answer, _ANSWERED)[0]
            lines.append(f"- {task_text}\n  {task.end}: {answer}")
            sources = [f"{label}: event {seq}" for label, seq in [*task.sources.items()][-_SOURCES:]]
            lines += [f"  ({'; '.join(sources)})"] if sources else []
        return (Entry(seq=seq, message=Message(role="user", text="\n".join(lines)), name=EARLIER),)


def _as_of(now: int, task: _Task) -> _Task:
    """Return a task as of an event, without anything later."""
    if task.ended > now or not task.ended:
        task = replace(task, end="not ended when this task began", answer="")
    return replace(task, sources={label: seq for label, seq in task.sources.items() if seq < now})
