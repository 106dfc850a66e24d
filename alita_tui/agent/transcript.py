"""The conversations of a session's tasks, derived from the events.

Earlier tasks shrink to their outcome. A task that has ended is kept for a while and then dropped, so a long session
takes no more memory than a short one; whoever needs its turns again gets them from the record.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from alita_tui import events as e
from alita_tui.agent.compaction import summarised
from alita_tui.agent.context import Conversation, Entry
from alita_tui.agent.earlier import Before, EarlierTasks
from alita_tui.events import Artefact
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import newest, of
from alita_tui.spine.ports.context import BLOCKS, off

_ENDED = 16
"""Tasks that have ended whose turns are in memory."""
_FOR_ALL = (e.ToolDemoted, e.ToolSuspended, e.FeedbackGiven, e.MemoryForgotten)
"""Said in one task, if in any, and heard by all that go on."""


class _Thread:
    """The turns of one task and of those that continue it, or of an agent that a part of it was handed to."""

    def __init__(self, files: dict[str, Artefact], began: int, agent_id: str = "") -> None:
        """`files` are those of the session by handle; `began` is the event with which it begins."""
        self.conversation = Conversation(files, agent_id)
        self.agent_id = agent_id
        self.summary: e.ContextSummarised | None = None
        self.began = began
        self.chain: set[str] = set()
        self.agents: list[str] = []
        """Those that parts of the task were handed to."""
        self.before = Before()
        """The tasks before it."""
        self.ended = False


class Transcript:
    """The turns of a session's tasks, carried on event by event. Each task has a conversation of its own."""

    def __init__(self, defaults: Collection[str] = tuple(BLOCKS), *, only: Collection[str] = ()) -> None:
        """`defaults` are the blocks of the context that are on where the person switched nothing.

        With `only` it keeps the conversations of these tasks alone.
        """
        self._defaults = defaults
        self._only = frozenset(only)
        self._switches: dict[str, bool] = {}
        self._threads: list[_Thread] = []
        """Of tasks that have not ended, and of those that ended last; the oldest first."""
        self._of_task: dict[str, _Thread] = {}
        self._of_agent: dict[str, _Thread] = {}
        """Of those agents that a part of a task was handed to."""
        self._newest: tuple[_Thread, ...] = ()
        """Of the task that was submitted last, if any was."""
        self._files: dict[str, Artefact] = {}
        self._earlier = EarlierTasks()
        self._history: Sequence[Envelope] = ()
        self._heard = 0

    def hear(self, history: Sequence[Envelope], *, upto: int | None = None) -> None:
        """Take in what is new, or what is new of the first `upto` events."""
        self._history = history
        while self._heard < (len(history) if upto is None else min(upto, len(history))):
            envelope = history[self._heard]
            self._take(envelope)
            self._heard += 1

    def _take(self, envelope: Envelope) -> None:
        self._earlier.hear(envelope)
        match envelope.event:
            case e.TaskSubmitted(task_id=task_id, again=again):
                self._begin(task_id, again, envelope.seq or 0)
            case e.AgentStarted(agent_id=agent_id) if not self._only or envelope.task_id in self._only:
                own = self._of_agent[agent_id] = _Thread(self._files, envelope.seq or 0, agent_id)
                own.conversation.hear(envelope)
                if task := self._of_task.get(envelope.task_id):
                    task.agents.append(agent_id)
            case e.ArtefactAdded(artefact=file):
                self._files[file.handle] = file
            case e.ContextSwitched(block=block, on=on):
                self._switches[block] = on
            case _:
                pass
        for thread in self._hearers(envelope):
            thread.conversation.hear(envelope)
            match envelope.event:
                case e.ContextSummarised() as summary:
                    thread.summary = summary
                case e.TaskFinished(outcome=outcome):
                    thread.ended = outcome not in ("parked", "budget")
                    self._drop()
                case _:
                    pass

    def _begin(self, task_id: str, again: str, seq: int) -> None:
        """A task that is taken up again is shown from where it first began."""
        if self._only and task_id not in self._only:
            self._newest = ()
            return
        thread = self._of_task.get(again)
        if thread is None and again and (before := self._recorded(again, upto=self._heard)):
            thread = before._of_task[again]
            self._of_agent |= before._of_agent
        thread = thread or _Thread(self._files, seq)
        self._threads = [*(one for one in self._threads if one is not thread), thread]
        thread.chain.add(task_id)
        thread.before = self._earlier.before(thread.chain, seq)
        thread.ended = False
        self._of_task |= dict.fromkeys(thread.chain, thread)
        self._newest = (thread,)

    def _drop(self) -> None:
        """Forget the tasks that ended first, as soon as more than some have."""
        ended = [thread for thread in self._threads if thread.ended]
        for thread in ended[:-_ENDED]:
            self._threads.remove(thread)
            for task_id in thread.chain:
                self._of_task.pop(task_id, None)
            for agent_id in thread.agents:
                self._of_agent.pop(agent_id, None)

    def _recorded(self, task_id: str, *, upto: int) -> Transcript | None:
        """Return a task, those that it continues or that continue it, and its agents, after the first `upto` events.

        They are derived from the record once more. None where it has no such task.
        """
        submitted = {
            one.event.task_id: (one.event.again, one.seq or 0)
            for one in of(self._history, e.TaskSubmitted)
            if isinstance(one.event, e.TaskSubmitted) and (one.seq or 0) <= upto
        }
        if task_id not in submitted:
            return None
        first: dict[str, str] = {}
        for one, (again, _) in submitted.items():  # in their order: what it continues comes before
            first[one] = first.get(again, one)
        alone = Transcript(self._defaults, only=[one for one in first if first[one] == first[task_id]])
        alone._files = self._files
        alone._heard = submitted[first[task_id]][1] - 1
        alone.hear(self._history, upto=upto)
        return alone

    def _hearers(self, envelope: Envelope) -> Collection[_Thread]:
        """Return the threads that an event is told in: its task's; without a task, all that go on."""
        event = envelope.event
        if envelope.schema_version == 1:  # one task at a time
            return self._newest
        if isinstance(event, e.MemoryForgotten):
            return self._threads
        if envelope.delegate:
            agent = self._of_agent.get(envelope.delegate)
            return (agent,) if agent is not None else ()
        own = self._of_task.get(envelope.task_id or getattr(event, "task_id", ""))
        if envelope.task_id and not isinstance(event, _FOR_ALL):
            return (own,) if own is not None else ()
        return [thread for thread in self._threads if not thread.ended or thread is own]

    def observation(self, seq: int, agent_id: str = "") -> str:
        """Return what an event brought, of whichever task; empty where it brought nothing.

        An agent that was handed a part is told of its own alone.
        """
        if agent_id:
            agent = self._of_agent.get(agent_id)
            return agent.conversation.observation(seq) if agent else ""
        for thread in (*self._threads, *self._of_agent.values()):
            if thread.began <= seq and (text := thread.conversation.observation(seq)):
                return text
        return self._brought_before(seq)

    def _brought_before(self, seq: int) -> str:
        """Return what an event brought in a task that is not in memory any more; empty where it brought nothing."""
        envelope = self._history[seq - 1] if 0 < seq <= self._heard else None
        if envelope is None or envelope.seq != seq:
            return ""
        task_id = envelope.task_id
        if envelope.schema_version == 1:
            earlier = (one.event for one in newest(self._history, e.TaskSubmitted) if (one.seq or 0) <= seq)
            submitted = next(earlier, None)
            task_id = submitted.task_id if isinstance(submitted, e.TaskSubmitted) else ""
        if not task_id or task_id in self._of_task or (before := self._recorded(task_id, upto=seq)) is None:
            return ""
        by_id = before._of_agent if envelope.delegate else before._of_task
        thread = by_id.get(envelope.delegate or task_id)
        return thread.conversation.observation(seq) if thread else ""

    @property
    def off(self) -> frozenset[str]:
        """The blocks of the context that are off."""
        return off(self._defaults, self._switches)

    def shown(self, task_id: str = "", agent_id: str = "") -> tuple[Entry, ...]:
        """Return the turns of a task, by default the newest, and what stands for those before; no block that is off.

        Of an agent that was handed a part, its own turns and nothing else. Nothing of a task that ended long ago.
        """
        if agent_id:
            agent = self._of_agent.get(agent_id)
            entries = agent.conversation.entries() if agent else ()
            known = agent.summary if agent else None
            return summarised(entries, known.upto, known.text) if known else entries
        thread = self._of_task.get(task_id) if task_id else next(iter(self._newest), None)
        if thread is None:
            return ()
        hidden = self.off
        turns = (*thread.before.entries(thread.began - 1), *thread.conversation.entries())
        entries = tuple(entry for entry in turns if entry.message.role != "user" or entry.name not in hidden)
        if thread.summary is None:
            return entries
        return summarised(entries, thread.summary.upto, thread.summary.text)
