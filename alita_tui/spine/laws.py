"""What must hold of any stream. Checked on every engine test, on load, and by `sessions verify`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from alita_tui.events import (
    NO_TASK,
    ApprovalRequested,
    ApprovalResolved,
    ArtefactAdded,
    BrokerAnswered,
    BudgetSpent,
    BuildDrafted,
    BuildStarted,
    Capabilities,
    ContextGiven,
    ContextSwitched,
    FeedbackGiven,
    GateChecked,
    Lasting,
    LibraryLoaded,
    Lock,
    PageLogged,
    PlansWeighed,
    QueueSwitched,
    RequirementsLocked,
    ServerStarted,
    SessionClosed,
    SessionOpened,
    SessionResumed,
    TaskCancelled,
    TaskEdited,
    TaskFinished,
    TaskId,
    TaskMoved,
    TaskQueued,
    TaskSubmitted,
    ToolAliased,
    ToolCalled,
    ToolDraft,
    ToolFailed,
    ToolRegistered,
    ToolReturned,
    ToolSuspended,
    Twin,
    UnknownEvent,
    Value,
    build_digest,
)
from alita_tui.events.task import MOST_REPLANS
from alita_tui.spine.agent_laws import AgentLaws
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.grants import DEEPEST_CALL, tool_grants
from alita_tui.spine.memory_laws import MemoryLaws
from alita_tui.spine.queue_laws import QueueLaws
from alita_tui.spine.task_laws import TaskLaws


class Breach(Value, frozen=True):
    """One law that a stream breaks."""

    law: str
    seq: int
    text: str


def check(stream: Iterable[Envelope], *, complete: bool = False) -> list[Breach]:
    """Return all breaches in a stream of envelopes; transient ones are ignored.

    With `complete`, a call without an end is a breach too; otherwise the stream may still grow.
    """
    court = _Court()
    for envelope in stream:
        if envelope.seq is not None:
            court.apply(envelope.seq, envelope)
    if complete:
        for call_id, seq in court.open_calls.items():
            court.breach("one end per call", seq, f"call {call_id} never ended")
        for agent_id, seq in court.agents.open.items():
            court.breach("one end per agent", seq, f"{agent_id} never ended")
    return court.breaches


class _Court:
    def __init__(self) -> None:
        self.breaches: list[Breach] = []
        self.open_calls: dict[str, int] = {}
        self._inner: dict[str, tuple[ToolCalled, ...]] = {}
        """Open call -> the calls from the agent's own to it."""
        self._callable: dict[str, frozenset[str]] = {}
        """Digest -> the tools that it may call, for builds that were approved in this session."""
        self._ended: set[str] = set()
        self._last = 0
        self._closed = False
        self._session_id: str | None = None
        self._drafted: dict[str, tuple[ToolDraft, Lock]] = {}
        self._requested: dict[str, tuple[str, str]] = {}
        self._resolved: set[str] = set()
        self._approved: dict[str, tuple[str, str, Lasting]] = {}
        self._twins: dict[str, tuple[str, tuple[Twin, ...]]] = {}
        self._aliased: dict[str, Twin | None] = {}
        self._runnable: set[str] = set()
        self._suspended: set[tuple[str, int]] = set()
        """Versions of tools that their servers changed."""
        self._started: dict[str, set[str]] = {}
        """Server -> its starts."""
        self._at: dict[str, str] = {}
        """Open call -> the server that its tool is one of."""
        self._messages_counted: set[str] = set()
        """Calls whose further page messages were counted, so none may follow."""
        self._requests_counted: set[str] = set()
        """Calls whose further requests were counted, so none may follow."""
        self._task = NO_TASK
        self._tasks: set[TaskId] = set()
        self._task_of_call: dict[str, TaskId] = {}
        self._asked_by: dict[str, TaskId] = {}
        """Build -> its task; a task that continues a parked one takes over its builds."""
        self._lent_to: dict[str, TaskId] = {}
        """Digest -> the task that it was approved for alone, which has not ended."""
        self._paid: set[str] = set()
        self._weighed: dict[str, int] = {}
        """How often the plans of each task were compared."""
        self._files: dict[str, str] = {}
        """Handle of each artefact -> its digest."""
        self._off: set[str] = set()
        """Blocks of the context that the person switched off."""
        self._memory = MemoryLaws()
        self._queue = QueueLaws()
        self._tasks_run = TaskLaws()
        self.agents = AgentLaws()

    def breach(self, law: str, seq: int, text: str) -> None:
        self.breaches.append(Breach(law=law, seq=seq, text=text))

    def apply(self, seq: int, envelope: Envelope) -> None:  # noqa: C901  # one match over all laws
        if seq != self._last + 1:
            self.breach("gapless", seq, f"event {self._last} is followed by {seq}")
        self._last = seq
        if self._session_id is None:
            self._session_id = envelope.session_id
        elif envelope.session_id != self._session_id:
            self.breach("one session", seq, f"belongs to session {envelope.session_id}")
        event = envelope.event
        task_id = envelope.task_id or self._task  # schema 1: one task at a time
        if self._closed and not isinstance(event, SessionResumed):
            self.breach("nothing after close", seq, "the session was closed")
        match event:
            case SessionOpened() if seq != 1:
                self.breach("opened once", seq, "the session was opened again")
            case SessionResumed():
                self._closed = False
            case SessionClosed():
                self._closed = True
            case UnknownEvent(reason=reason):
                self.breach("readable", seq, f"a record could not be read: {reason}")
            case LibraryLoaded(tools=tools):
                self._runnable.update(card.digest for card in tools)
                self._suspended -= {(card.name, card.version) for card in tools}
            case ServerStarted(start_id=start_id, server=server):
                self._started.setdefault(server, set()).add(start_id)
            case ToolSuspended(name=name, version=version):
                self._suspended.add((name, version))
            case ArtefactAdded(artefact=file):
                if not file.digest.startswith(file.handle.removeprefix("art_")):
                    self.breach("artefact", seq, f"{file.handle} is not what its digest is called")
                self._files[file.handle] = file.digest
            case ContextSwitched(block=block, on=on):
                (self._off.discard if on else self._off.add)(block)
            case ContextGiven(blocks=blocks):
                for part in blocks:
                    if part.name in self._off:
                        self.breach("off is not given", seq, f"{part.name} was switched off")
            case TaskQueued() | TaskEdited() | TaskMoved() | TaskCancelled() | QueueSwitched():
                for law, text in self._queue.apply(event):
                    self.breach(law, seq, text)
            case TaskSubmitted(task_id=submitted, again=again, queue_id=queue_id):
                for law, text in self._queue.begin(queue_id) if queue_id else ():
                    self.breach(law, seq, text)
                self._task = submitted
                self._tasks.add(submitted)
                if again:
                    for owners in (self._asked_by, self._lent_to):
                        owners.update(
                            {call_id: submitted for call_id, owner in owners.items() if owner == again}
                        )
            case TaskFinished(task_id=finished, outcome=outcome):
                if outcome not in ("parked", "budget"):
                    self._lent_to = {
                        digest: owner for digest, owner in self._lent_to.items() if owner != finished
                    }
            case BuildStarted(build_id=build_id):
                self._asked_by[build_id] = task_id
            case BuildDrafted() | RequirementsLocked():
                self._build(seq, event)
            case GateChecked(build_id=build_id, digest=digest, result=result):
                if result.gate == "neighbours":
                    self._twins[build_id] = (digest, result.twins)
            case ApprovalRequested() | ApprovalResolved() | ToolRegistered() | ToolAliased():
                self._approval(seq, event)
            case ToolCalled() | BrokerAnswered() | PageLogged() | ToolReturned() | ToolFailed():
                self._call(seq, event, task_id)
            case FeedbackGiven(task_id=rated, call_id=call_id, build_id=build_id):
                if rated not in self._tasks:
                    self.breach("rate what happened", seq, f"no task {rated} was submitted")
                elif build_id and build_id not in self._asked_by:
                    self.breach("rate what happened", seq, f"there was no build {build_id}")
                elif call_id and (
                    call_id not in self._ended or self._task_of_call.get(call_id, rated) != rated
                ):
                    self.breach("rate what happened", seq, f"no call {call_id} ended in that task")
            case PlansWeighed(task_id=weighed, followed=followed, chosen=chosen):
                self._weighed[weighed] = self._weighed.get(weighed, 0) + 1
                if followed is None:
                    self.breach("follow what was weighed", seq, f"there is no plan {chosen}")
                if self._weighed[weighed] > 1 + MOST_REPLANS:
                    self.breach("change a plan twice at most", seq, f"task {weighed} changes it again")
            case BudgetSpent(call_id=call_id):
                if call_id in self._paid:
                    self.breach("paid once", seq, f"call {call_id} was paid twice")
                self._paid.add(call_id)
            case _:
                pass
        breaches = (
            self._memory.apply(seq, envelope),
            self._tasks_run.apply(envelope),
            self.agents.apply(envelope),
        )
        for law, text in chain.from_iterable(breaches):
            self.breach(law, seq, text)
        if envelope.task_id:
            self._placed(seq, envelope)

    def _placed(self, seq: int, envelope: Envelope) -> None:
        """A task that an envelope names was submitted, and a call ends in the task in which it began."""
        event, task_id = envelope.event, envelope.task_id
        match event:
            case ToolCalled(call_id=call_id):
                self._task_of_call[call_id] = task_id
            case (
                BrokerAnswered(call_id=call_id)
                | PageLogged(call_id=call_id)
                | ToolReturned(call_id=call_id)
                | ToolFailed(call_id=call_id)
            ):
                if self._task_of_call.get(call_id, task_id) != task_id:
                    self.breach("one task per call", seq, f"call {call_id} began in another task")
            case TaskFinished() if event.task_id != task_id:
                self.breach("in its task", seq, f"the end of {event.task_id} is recorded in {task_id}")
            case _:
                pass
        if task_id not in self._tasks:
            self.breach("in its task", seq, f"no task {task_id} was submitted")

    def _build(self, seq: int, event: BuildDrafted | RequirementsLocked) -> None:
        if isinstance(event, BuildDrafted):
            if event.draft.digest != event.digest:
                self.breach("digest", seq, f"the digest of draft {event.attempt} is not its own")
            self._drafted[event.build_id] = (event.draft, Lock())
        elif event.build_id not in self._drafted:
            self.breach("lock what was drafted", seq, f"build {event.build_id} has no draft")
        else:
            self._drafted[event.build_id] = (self._drafted[event.build_id][0], event.lock)

    def _approval(
        self, seq: int, event: ApprovalRequested | ApprovalResolved | ToolRegistered | ToolAliased
    ) -> None:
        match event:
            case ApprovalRequested(approval_id=approval_id, build_id=build_id, digest=digest):
                drafted = self._drafted.get(build_id)
                if drafted is None or build_digest(*drafted) != digest:
                    self.breach("ask for what was drafted", seq, f"{approval_id} names another digest")
                self._requested[approval_id] = (build_id, digest)
            case ApprovalResolved(approval_id=approval_id, build_id=build_id, digest=digest):
                if self._requested.get(approval_id) != (build_id, digest):
                    self.breach("decide on what was asked", seq, f"{approval_id} was never asked like this")
                elif approval_id in self._resolved:
                    self.breach("decide once", seq, f"{approval_id} was decided before")
                elif (verdict := event.verdict).decision == "approved":
                    self._approved[approval_id] = (build_id, digest, verdict.lasting)
                    drafted = self._drafted.get(build_id)
                    if verdict.grants and drafted and not verdict.grants.within(drafted[0].capabilities):
                        self.breach("grant what was asked", seq, f"{approval_id} grants more than was asked")
                    if drafted:
                        granted = drafted[0].capabilities if verdict.grants is None else verdict.grants
                        self._callable[digest] = frozenset(granted.tools)
                elif verdict.decision == "aliased":
                    self._aliased[approval_id] = verdict.alias_of
                self._resolved.add(approval_id)
            case ToolAliased():
                self._alias(seq, event)
            case ToolRegistered(approval_id=approval_id, build_id=build_id, card=card):
                if self._approved.get(approval_id) != (build_id, card.digest, event.lasting):
                    self.breach(
                        "register what was approved",
                        seq,
                        f"{card.name} was not approved as {card.digest[:12]}",
                    )
                elif event.lasting == "library":
                    self._runnable.add(card.digest)
                else:
                    self._lent_to[card.digest] = self._asked_by.get(build_id, NO_TASK)

    def _alias(self, seq: int, event: ToolAliased) -> None:
        name, target = event.name, event.target
        digest, twins = self._twins.get(event.build_id, ("", ()))
        drafted = self._drafted.get(event.build_id)
        if self._aliased.get(event.approval_id) != target:
            self.breach("alias what was decided", seq, f"{name} was not made a name of {target.name}")
        elif drafted is None or (drafted[0].digest, drafted[0].name) != (digest, name):
            self.breach("alias a twin", seq, f"{name} is not the build that was compared")
        elif target not in twins:
            self.breach("alias a twin", seq, f"{target.name} is no twin of {name}")

    def _call(
        self,
        seq: int,
        event: ToolCalled | BrokerAnswered | PageLogged | ToolReturned | ToolFailed,
        task_id: TaskId,
    ) -> None:
        call_id = event.call_id
        if isinstance(event, ToolCalled):
            if call_id in self.open_calls or call_id in self._ended:
                self.breach("one end per call", seq, f"call {call_id} began twice")
            self.open_calls[call_id] = seq
            for file in event.files:
                if self._files.get(file.handle) != file.digest:
                    self.breach("use what was added", seq, f"{file.handle} was never added like this")
            self._nested(seq, event)
            approved = event.digest in self._runnable or self._lent_to.get(event.digest) == task_id
            if (event.name, event.version) in self._suspended:
                self.breach("run what was approved", seq, f"{event.name} ran although its server changed it")
            if event.server:
                self._at[call_id] = event.server
            if not approved and not event.caller:
                self.breach("run what was approved", seq, f"{event.name} ran as {event.digest[:12]}")
        elif isinstance(event, BrokerAnswered | PageLogged):
            self._used(seq, event)
        elif self.open_calls.pop(call_id, None) is None:
            self.breach("one end per call", seq, f"call {call_id} is not open")
        else:
            server = self._at.pop(call_id, "")
            if server and isinstance(event, ToolReturned) and server not in self._started:
                self.breach("start before a call", seq, f"{server} answered {call_id} and was never started")
            self._ended.add(call_id)
            self._inner.pop(call_id, None)
            if any(call.call_id == call_id for chain in self._inner.values() for call in chain):
                self.breach("inner calls end first", seq, f"call {call_id} ended before a call that it made")

    def _used(self, seq: int, event: BrokerAnswered | PageLogged) -> None:
        """Requests and page messages are recorded within their run, and numbers of further ones end them."""
        call_id = event.call_id
        started = any(call_id in starts for starts in self._started.values())
        if call_id not in self.open_calls and call_id not in self._drafted and not started:
            self.breach("grants within a call", seq, f"call {call_id} is not open")
        if isinstance(event, PageLogged):
            if call_id in self._messages_counted:
                self.breach("messages end with a number", seq, f"call {call_id} has one more")
            if event.more:
                self._messages_counted.add(call_id)
        elif event.more:
            self._requests_counted.add(call_id)
        elif call_id in self._requests_counted and call_id in self.open_calls:  # a build has several runs
            self.breach("requests end with a number", seq, f"call {call_id} has one more")

    def _nested(self, seq: int, event: ToolCalled) -> None:
        """A call of a tool by a tool: while that one runs, of the very bytes that it was granted, in no circle."""
        if not set(event.tools) <= self._callable.get(event.digest, frozenset(event.tools)):
            self.breach("call what was granted", seq, f"{event.name} ran with tools that were not granted")
        chain = self._inner.get(event.caller, ())
        self._inner[event.call_id] = (*chain, event)
        if not event.caller:
            return
        pins = tool_grants(Capabilities(tools=chain[-1].tools if chain else ()))
        if not chain:
            self.breach("call within a call", seq, f"call {event.caller} is not open")
        elif not any(
            (pin.name, pin.version, pin.digest) == (event.name, event.version, event.digest) for pin in pins
        ):
            self.breach("call what was granted", seq, f"{event.name} was not granted to {chain[-1].name}")
        if event.depth != len(chain) or len(chain) > DEEPEST_CALL:
            self.breach("call within a call", seq, f"call {event.call_id} is not {event.depth} calls deep")
        if event.digest in {call.digest for call in chain}:
            self.breach("no circle of calls", seq, f"{event.name} was called while it ran")
