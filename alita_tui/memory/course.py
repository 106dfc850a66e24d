"""How one task went according to the record: what was asked, which tools returned, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence

from alita_tui.events import (
    ArtefactAdded,
    BudgetSpent,
    Json,
    TaskFinished,
    TaskId,
    TaskOutcome,
    TaskSubmitted,
    ToolCalled,
    ToolFailed,
    ToolName,
    ToolRegistered,
    ToolReturned,
    Value,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import between, of, of_kind


class Call(Value, frozen=True):
    """A call of a tool that gave a result."""

    name: ToolName
    arguments: Json
    seq: int
    """Of the event with the result."""
    result: Json = None
    names: frozenset[str] = frozenset()
    """Names by which later calls may refer to its result."""
    made: frozenset[str] = frozenset()
    """Handles and names of the files that it made."""


class Course(Value, frozen=True):
    """How a task went."""

    session_id: str
    task_id: TaskId
    seq: int
    """Of the event that ended it."""
    task: str
    """The task in the person's own words."""
    outcome: TaskOutcome
    answer: str = ""
    reason: str = ""
    calls: tuple[Call, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    """Tools that failed, with the reason in a word or two."""
    built: tuple[str, ...] = ()
    """Tools that were approved for the library meanwhile."""
    given: frozenset[str] = frozenset()
    """Handles and names of the files that came with it."""
    made: tuple[str, ...] = ()
    """Names of the files that it made."""
    cost_usd: float = 0.0
    unpriced: bool = False

    @property
    def chain(self) -> tuple[str, ...]:
        """Return the tools that returned, in order; repeated calls of one tool count once."""
        names = [str(call.name) for call in self.calls]
        return tuple(name for name, previous in zip(names, ["", *names], strict=False) if name != previous)


def course_of(envelopes: Sequence[Envelope], task_id: TaskId) -> Course | None:
    """Return the course of one task; None for an unknown task, one that has not ended, or one that no person gave."""
    own_events = _events_of(envelopes, task_id)
    last_event = own_events[-1].event if own_events else None
    submitted = next(
        (task for task in of_kind(envelopes, TaskSubmitted) if task.task_id == task_id),
        None,
    )
    if not isinstance(last_event, TaskFinished) or submitted is None or not submitted.text:
        return None
    if submitted.improves:  # the text of a proposal is an MCP client's, or quotes tools that failed
        return None
    # Only the lead's calls: a chain is what one agent did.
    calls, failed = _calls([envelope for envelope in own_events if not envelope.delegate])
    costs = [call.cost_usd for call in of_kind(own_events, BudgetSpent)]
    file_names = [
        added.artefact.name for added in of_kind(own_events, ArtefactAdded) if added.origin == "tool"
    ]
    tool_names = [
        str(tool.card.name) for tool in of_kind(own_events, ToolRegistered) if tool.lasting == "library"
    ]
    return Course(
        session_id=own_events[-1].session_id,
        task_id=task_id,
        seq=own_events[-1].seq or 0,
        task=submitted.text,
        outcome=last_event.outcome,
        answer=last_event.answer,
        reason=last_event.reason,
        calls=calls,
        failed=failed,
        built=tuple(dict.fromkeys(tool_names)),
        given=_names_of_files(envelopes, submitted.files),
        made=tuple(dict.fromkeys(file_names)),
        cost_usd=sum(cost for cost in costs if cost is not None),
        unpriced=None in costs,
    )


def _names_of_files(envelopes: Sequence[Envelope], handles: tuple[str, ...]) -> frozenset[str]:
    if not handles:
        return frozenset()
    names = {
        added.artefact.name for added in of_kind(envelopes, ArtefactAdded) if added.artefact.handle in handles
    }
    return frozenset((*handles, *names))


def _events_of(envelopes: Sequence[Envelope], task_id: TaskId) -> list[Envelope]:
    """Return the events of one task up to its last end.

    In schema 1 tasks ran one at a time: the events between two ends belong to the later one.
    """
    submitted_at, previous_end = None, 0
    spans: list[tuple[int, int]] = []
    for envelope in of(envelopes, TaskSubmitted, TaskFinished):
        seq, event = envelope.seq or 0, envelope.event
        if isinstance(event, TaskFinished):
            if event.task_id == task_id:
                spans.append((previous_end, seq))
            previous_end = seq
        elif isinstance(event, TaskSubmitted) and event.task_id == task_id:
            submitted_at = seq - 1
    if submitted_at is None or not spans:
        return []
    return [
        envelope
        for envelope in between(envelopes, min(submitted_at, spans[0][0]), spans[-1][1])
        if envelope.task_id == task_id
        or (envelope.schema_version == 1 and any(begin < (envelope.seq or 0) <= end for begin, end in spans))
    ]


def _calls(envelopes: list[Envelope]) -> tuple[tuple[Call, ...], tuple[tuple[str, str], ...]]:
    """Return the agent's calls that returned, and the tools that failed, each with the reason."""
    open_calls: dict[str, ToolCalled] = {}
    files_by_source: dict[str, set[str]] = {}
    calls: list[Call] = []
    failed: dict[str, str] = {}
    for envelope in envelopes:
        match envelope.event:
            case ToolCalled(call_id=call_id, depth=0):
                open_calls[call_id] = envelope.event
            case ArtefactAdded(artefact=file, source=source):
                files_by_source.setdefault(source, set()).update((file.handle, file.name))
            case ToolReturned(call_id=call_id, report=report) if call_id in open_calls:
                called = open_calls.pop(call_id)
                if report.status == "ok":
                    calls.append(
                        Call(
                            name=called.name,
                            arguments=called.arguments,
                            seq=envelope.seq or 0,
                            result=None if report.result_handle else report.result,
                            names=frozenset((called.label, called.name, called.alias)) - {""},
                            made=frozenset(files_by_source.get(call_id, ())),
                        )
                    )
            case ToolFailed(call_id=call_id, reason=reason, report=report) if call_id in open_calls:
                name = str(open_calls.pop(call_id).name)
                failed[name] = (report.reason if report else "") or reason
            case _:
                pass
    return tuple(calls), tuple(failed.items())
