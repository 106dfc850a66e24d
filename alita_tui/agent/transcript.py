"""The conversations of a session's tasks, derived from the events.

A task begins with a summary of the earlier ones: their texts, their ends, where the results are, as of when it began;
tasks that run at the same time do not change it. A task that has ended is kept for a while and then dropped, so a long
session takes no more memory than a short one; its turns are derived from the record again when they are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from alita_tui import events as e
from alita_tui.agent.compaction import summarised
from alita_tui.agent.conversation import Conversation, Entry
from alita_tui.events import Artefact
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import newest, of
from alita_tui.spine.ports.context import BLOCKS, off
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


_ENDED = 16
"""Tasks that have ended whose turns are in memory."""
_FOR_ALL = (e.ToolDemoted, e.ToolSuspended, e.FeedbackGiven, e.MemoryForgotten)
"""Events that every running task sees, whichever task they belong to."""


class _Thread:
    """The turns of one task and of those that continue it, or of an agent that a part of it was handed to."""

    def __init__(self, files: dict[str, Artefact], began: int, agent_id: e.AgentId = e.NO_AGENT) -> None:
        """`files` are those of the session by handle; `began` is the event with which it begins."""
        self.conversation = Conversation(files, agent_id)
        self.agent_id = agent_id
        self.summary: e.ContextSummarised | None = None
        self.began = began
        self.chain: set[e.TaskId] = set()
        self.agents: list[e.AgentId] = []
        """The agents that were handed parts of the task."""
        self.before = Before()
        """The earlier tasks of the session."""
        self.ended = False


class Transcript:
    """The turns of a session's tasks, updated with each event. Each task has its own conversation."""

    def __init__(self, defaults: Collection[str] = tuple(BLOCKS), *, only: Collection[str] = ()) -> None:
        """`defaults` are the blocks of the context that are on unless the person switched them off.

        With `only`, only the conversations of these tasks are built.
        """
        self._defaults = defaults
        self._only = frozenset(only)
        self._switches: dict[str, bool] = {}
        self._threads: list[_Thread] = []
        """Threads of tasks that have not ended, and of those that ended last; the oldest first."""
        self._of_task: dict[e.TaskId, _Thread] = {}
        self._of_agent: dict[e.AgentId, _Thread] = {}
        """Threads of agents that were handed a part of a task."""
        self._newest: tuple[_Thread, ...] = ()
        """Thread of the task that was submitted last, if any."""
        self._files: dict[str, Artefact] = {}
        self._earlier = EarlierTasks()
        self._history: Sequence[Envelope] = ()
        self._read_upto = 0

    def read(self, history: Sequence[Envelope], *, upto: int | None = None) -> None:
        """Apply the new events, or those among the first `upto` events."""
        self._history = history
        while self._read_upto < (len(history) if upto is None else min(upto, len(history))):
            envelope = history[self._read_upto]
            self._apply(envelope)
            self._read_upto += 1

    def _apply(self, envelope: Envelope) -> None:
        self._earlier.apply(envelope)
        match envelope.event:
            case e.TaskSubmitted(task_id=task_id, again=again):
                self._begin(task_id, again, envelope.seq or 0)
            case e.AgentStarted(agent_id=agent_id) if not self._only or envelope.task_id in self._only:
                own = self._of_agent[agent_id] = _Thread(self._files, envelope.seq or 0, agent_id)
                own.conversation.apply(envelope)
                if task := self._of_task.get(envelope.task_id):
                    task.agents.append(agent_id)
            case e.ArtefactAdded(artefact=file):
                self._files[file.handle] = file
            case e.ContextSwitched(block=block, on=on):
                self._switches[block] = on
            case _:
                pass
        for thread in self._threads_for(envelope):
            thread.conversation.apply(envelope)
            match envelope.event:
                case e.ContextSummarised() as summary:
                    thread.summary = summary
                case e.TaskFinished(outcome=outcome):
                    thread.ended = outcome not in ("parked", "budget")
                    self._drop()
                case _:
                    pass

    def _begin(self, task_id: e.TaskId, again: e.TaskId, seq: int) -> None:
        """Begin a task, or continue its thread: a resumed task is shown from where it first began."""
        if self._only and task_id not in self._only:
            self._newest = ()
            return
        thread = self._of_task.get(again)
        if thread is None and again and (before := self._recorded(again, upto=self._read_upto)):
            thread = before._of_task[again]
            self._of_agent |= before._of_agent
        thread = thread or _Thread(self._files, seq)
        self._threads = [
            *(other_thread for other_thread in self._threads if other_thread is not thread),
            thread,
        ]
        thread.chain.add(task_id)
        thread.before = self._earlier.before(thread.chain, seq)
        thread.ended = False
        self._of_task |= dict.fromkeys(thread.chain, thread)
        self._newest = (thread,)

    def _drop(self) -> None:
        """Drop the tasks that ended first, beyond the number that stays in memory."""
        ended = [thread for thread in self._threads if thread.ended]
        for thread in ended[:-_ENDED]:
            self._threads.remove(thread)
            for task_id in thread.chain:
                self._of_task.pop(task_id, None)
            for agent_id in thread.agents:
                self._of_agent.pop(agent_id, None)

    def _recorded(self, task_id: e.TaskId, *, upto: int) -> Transcript | None:
        """Return a task, those that it continues or that continue it, and its agents, after the first `upto` events.

        They are derived from the record once more. None if it has no such task.
        """
        submitted = {
            envelope.event.task_id: (envelope.event.again, envelope.seq or 0)
            for envelope in of(self._history, e.TaskSubmitted)
            if isinstance(envelope.event, e.TaskSubmitted) and (envelope.seq or 0) <= upto
        }
        if task_id not in submitted:
            return None
        first: dict[e.TaskId, e.TaskId] = {}
        for submitted_id, (
            again,
            _,
        ) in submitted.items():  # in order, so a task comes after the one it continues
            first[submitted_id] = first.get(again, submitted_id)
        alone = Transcript(
            self._defaults, only=[related for related in first if first[related] == first[task_id]]
        )
        alone._files = self._files
        alone._read_upto = submitted[first[task_id]][1] - 1
        alone.read(self._history, upto=upto)
        return alone

    def _threads_for(self, envelope: Envelope) -> Collection[_Thread]:
        """Return the threads that show an event: its task's, or without a task all running ones."""
        event = envelope.event
        if envelope.schema_version == 1:  # one task at a time
            return self._newest
        if isinstance(event, e.MemoryForgotten):
            return self._threads
        if envelope.delegate:
            agent = self._of_agent.get(envelope.delegate)
            return (agent,) if agent is not None else ()
        own = self._of_task.get(envelope.task_id or getattr(event, "task_id", e.NO_TASK))
        if envelope.task_id and not isinstance(event, _FOR_ALL):
            return (own,) if own is not None else ()
        return [thread for thread in self._threads if not thread.ended or thread is own]

    def observation(self, seq: int, agent_id: e.AgentId = e.NO_AGENT) -> str:
        """Return the observation that an event of any task gave; empty if none.

        A delegated agent sees only its own.
        """
        if agent_id:
            agent = self._of_agent.get(agent_id)
            return agent.conversation.observation(seq) if agent else ""
        for thread in (*self._threads, *self._of_agent.values()):
            if thread.began <= seq and (text := thread.conversation.observation(seq)):
                return text
        return self._dropped_observation(seq)

    def _dropped_observation(self, seq: int) -> str:
        """Return the observation of an event whose task is no longer in memory; empty if none."""
        envelope = self._history[seq - 1] if 0 < seq <= self._read_upto else None
        if envelope is None or envelope.seq != seq:
            return ""
        task_id = envelope.task_id
        if envelope.schema_version == 1:
            earlier = (
                envelope.event
                for envelope in newest(self._history, e.TaskSubmitted)
                if (envelope.seq or 0) <= seq
            )
            submitted = next(earlier, None)
            task_id = submitted.task_id if isinstance(submitted, e.TaskSubmitted) else e.NO_TASK
        if not task_id or task_id in self._of_task or (before := self._recorded(task_id, upto=seq)) is None:
            return ""
        agent_id = envelope.delegate
        thread = before._of_agent.get(agent_id) if agent_id else before._of_task.get(task_id)
        return thread.conversation.observation(seq) if thread else ""

    @property
    def off(self) -> frozenset[str]:
        """The blocks of the context that are off."""
        return off(self._defaults, self._switches)

    def shown(self, task_id: e.TaskId = e.NO_TASK, agent_id: e.AgentId = e.NO_AGENT) -> tuple[Entry, ...]:
        """Return a task's turns (default: the newest's) after the summary of earlier tasks; no blocks that are off.

        For a delegated agent, only its own turns. Empty for a task that ended long ago.
        """
        if agent_id:
            agent = self._of_agent.get(agent_id)
            entries = agent.conversation.entries() if agent else ()
            summary = agent.summary if agent else None
            return summarised(entries, summary.upto, summary.text) if summary else entries
        thread = self._of_task.get(task_id) if task_id else next(iter(self._newest), None)
        if thread is None:
            return ()
        hidden = self.off
        turns = (*thread.before.entries(thread.began - 1), *thread.conversation.entries())
        entries = tuple(entry for entry in turns if entry.message.role != "user" or entry.name not in hidden)
        if thread.summary is None:
            return entries
        return summarised(entries, thread.summary.upto, thread.summary.text)
