"""Earlier tasks of a session as a later one is shown them: what was asked, how it ended, where the results are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    end: str = "not ended"
    answer: str = ""
    sources: dict[str, int] = field(default_factory=dict)
    """What was observed -> the newest event that holds it."""


class EarlierTasks:
    """Hears a session; knows where the current task begins and what came of those before it."""

    def __init__(self) -> None:
        self._tasks: list[_Task] = []
        self._calls: dict[str, str] = {}
        self._first = 0
        """Place of the task with which what is shown in full begins."""

    @property
    def began(self) -> int:
        """The event from which on turns are shown in full."""
        return self._tasks[self._first].seq if self._tasks else 0

    def hear(self, envelope: Envelope) -> None:
        """Take in the next event."""
        event, seq = envelope.event, envelope.seq or 0
        match event:
            case e.TaskSubmitted(task_id=task_id, text=text, again=again):
                known = [place for place, task in enumerate(self._tasks) if again and task.task_id == again]
                self._tasks.append(_Task(seq, task_id, text))
                # A task that is taken up again is shown from where it first began.
                self._first = min(known[0], self._first) if known else len(self._tasks) - 1
            case e.TaskFinished(outcome=outcome, answer=answer, reason=reason) if self._tasks:
                self._tasks[-1].end = outcome
                self._tasks[-1].answer = answer or reason
            case e.ToolCalled(call_id=call_id, name=name, depth=0):
                self._calls[call_id] = name
            case e.ToolReturned(call_id=call_id, depth=0):
                self._source(f"run of {self._calls.pop(call_id, '')}", seq)
            case e.ToolRegistered(card=card):
                self._source(f"built {card.name} v{card.version}", seq)
            case e.PageRead(url=url):
                self._source(str(one_line(url, 100)), seq)
            case _:
                pass

    def _source(self, what: str, seq: int) -> None:
        if self._tasks:
            self._tasks[-1].sources[what] = seq

    def shown(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return the turns of the current task, behind one turn for the tasks before it."""
        if not self._first:
            return tuple(entries)
        place = next(
            (n for n, one in enumerate(entries) if one.seq >= self.began and one.message.role == "user"),
            len(entries),
        )
        told = Message(role="user", text=self._told(self._tasks[: self._first]))
        return (Entry(seq=self.began - 1, message=told, name=EARLIER), *entries[place:])

    def _told(self, tasks: Sequence[_Task]) -> str:
        recent, older = tasks[-_RECENT:], tasks[-_RECENT - _OLDER : -_RECENT]
        lines = [f"{EARLIER_HEAD} (look_back with an event's number shows what was observed):"]
        if more := len(tasks) - len(recent) - len(older):
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
