"""Explains an event from earlier events: why it happened, what it changed, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import UnionType

import msgspec

from alita_tui import events as e
from alita_tui.events import RunReport
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of_kind
from alita_tui.spine.text import SafeText, counted, one_line
from alita_tui.state.build import BuildState
from alita_tui.view.model import SessionView
from alita_tui.view.spend import settled_calls
from alita_tui.view.statistics import dollars
from alita_tui.view.trace import rows_for

_LINE = 400


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of an event, neutralised."""

    seq: int
    title: SafeText
    """The title of its row in the trace, or its kind if it has none."""
    why: tuple[SafeText, ...]
    """Its causes, from the direct one to the task."""
    changed: tuple[SafeText, ...]
    """What it changed on screen."""
    cost: tuple[SafeText, ...]


def explain(
    envelopes: Sequence[Envelope], index: int, before: SessionView, after: SessionView
) -> Explanation:
    """Explain the event at `index`, given the views before and after it."""
    envelope = envelopes[index]
    rows = rows_for(envelope)
    kind = envelope.event.__struct_config__.tag
    return Explanation(
        seq=envelope.seq or 0,
        title=rows[0].title if rows else one_line(str(kind).replace("_", " ").capitalize()),
        why=_lines(_why(envelopes, index, after)),
        changed=_lines(_changed(before, after)) or (SafeText("Nothing but what is recorded."),),
        cost=_lines(_cost(envelopes, index, after)),
    )


def _lines(texts: Iterator[str]) -> tuple[SafeText, ...]:
    return tuple(dict.fromkeys(one_line(text, _LINE) for text in texts if text))


# --- why -----------------------------------------------------------------------------------


def _why(envelopes: Sequence[Envelope], index: int, view: SessionView) -> Iterator[str]:
    yield from _direct_cause(envelopes, index, view)
    action = _action_of(envelopes, index)
    if action is not None and action != index:
        yield _row_title(envelopes[action], "The model chose: ")
    if action is not None:
        thought = _newest_of(envelopes, action, e.ModelReplied)
        if thought is not None and thought != index and envelopes[thought].step == envelopes[action].step:
            yield _row_title(envelopes[thought], "It thought: ")
    task = _newest_of(envelopes, index, e.TaskSubmitted)
    if task is not None and task != index:
        plan = _newest_of(envelopes, index, e.PlanProposed)
        if plan is not None and plan > task and plan != index:
            yield _row_title(envelopes[plan], "The plan: ")
        yield _row_title(envelopes[task], "The task: ")


def _direct_cause(envelopes: Sequence[Envelope], index: int, view: SessionView) -> Iterator[str]:  # noqa: C901
    """Yield the direct cause of an event, by its kind."""
    event = envelopes[index].event
    match event:
        case e.TaskSubmitted(retried=True):
            yield "You asked to try it again."
        case e.TaskSubmitted(again=again) if again:
            yield "A build that this task waited for was decided."
        case e.BuildPutOff():
            yield "You left the verdict for later."
        case (
            e.TaskSubmitted()
            | e.TaskQueued()
            | e.TaskEdited()
            | e.TaskMoved()
            | e.TaskCancelled()
            | e.QueueSwitched()
            | e.Steered()
            | e.QuestionAnswered()
            | e.ServerQuestionEnded(outcome="answered" | "refused")
            | e.Interrupted()
        ):
            yield "Started by you."
        case e.SessionOpened(parent=str(parent)):
            yield f"It was forked from {parent}."
        case (
            e.SessionOpened()
            | e.SessionResumed()
            | e.SessionClosed()
            | e.LibraryLoaded()
            | e.SandboxChecked()
        ):
            yield "A session begins, goes on and ends with what is there."
        case e.BuildDrafted(attempt=attempt, author=author) if attempt > 1 or author == "person":
            result_index = _newest_of(
                envelopes,
                index - 1,
                e.BuildReviewed | e.BuildTested | e.RequirementsLocked,
                envelopes[index].task_id,
            )
            yield "You edited it." if author == "person" else "The draft before did not pass."
            if result_index is not None and author != "person":
                yield _row_title(envelopes[result_index])
        case e.ApprovalRequested(build_id=build_id):
            build = _build(view, build_id)
            yield "Nothing runs that you did not approve, and this build passed its checks."
            if build is not None and build.current is not None:
                cases = build.current.reports[-1].cases if build.current.reports else ()
                passed = sum(case.passed for case in cases)
                yield f"{passed} of {len(cases)} self-tests passed in {len(build.current.reports)} runs."
        case e.ApprovalResolved(verdict=verdict):
            yield f"Decided by {verdict.by or 'the engine'} ({verdict.via})."
            if verdict.seen_ms:
                end = ", to its end." if verdict.scrolled_to_end else "."
                yield f"It was on screen for {verdict.seen_ms / 1000:.0f} s{end}"
        case e.ToolRegistered(approval_id=approval_id):
            yield f"It was approved ({approval_id})."
        case e.ToolAliased(approval_id=approval_id, target=target):
            yield f"{target.label} gave the same answers, and you chose to keep one of them ({approval_id})."
        case e.ToolCalled(caller=caller) if caller:
            caller_index = _newest_where(
                envelopes,
                index,
                lambda earlier: isinstance(earlier, e.ToolCalled) and earlier.call_id == caller,
            )
            if caller_index is not None:
                yield _row_title(
                    envelopes[caller_index], "It was called by a tool whose approval names these bytes: "
                )
        case e.ToolCalled(digest=digest):
            yield _allowed(envelopes, index, digest)
        case e.ToolReturned(call_id=call_id) | e.ToolFailed(call_id=call_id):
            call_index = _newest_where(
                envelopes,
                index,
                lambda earlier: isinstance(earlier, e.ToolCalled) and earlier.call_id == call_id,
            )
            if call_index is not None:
                yield _row_title(envelopes[call_index], "It ends the call: ")
        case e.BudgetSpent(call_id=call_id) | e.ModelFailed(call_id=call_id):
            request_index = _newest_where(
                envelopes, index, lambda earlier: getattr(earlier, "call_id", "") == call_id
            )
            if request_index is not None:
                yield f"It ends the model call {call_id}."
        case e.FeedbackGiven(by=by):
            yield from _lessons_of(envelopes, event.task_id)
            yield (
                "You said it."
                if by == "person"
                else "How you went on reads as a correction; rating the answer says otherwise."
            )
        case e.ContextGiven(blocks=blocks):
            yield from (f"{block.name} is on: {block.source or 'your own words'}." for block in blocks)
        case e.ContextSwitched():
            yield "You switched it; the next call is sent without what is off."
        case e.MemoryRecalled(items=items):
            yield from (f"{item.text} — matched: {item.why}" for item in items)
        case e.MemoryWritten(item=item):
            source = item.source_session, item.source_seq
            yield from (
                _row_title(envelope, "Learned from: ")
                for envelope in envelopes[:index]
                if (envelope.session_id, envelope.seq) == source
            )
        case e.TaskFinished(task_id=task_id, reason=reason, ungrounded=unsupported):
            yield reason
            yield from _rests_on(envelopes, index, task_id)
            if unsupported:
                yield f"Nothing in the session gave: {'; '.join(unsupported)}"
        case e.ProviderFailedOver(reason=reason) | e.ProviderChanged(reason=reason):
            yield reason
        case _:
            return


def _rests_on(envelopes: Sequence[Envelope], index: int, task_id: e.TaskId) -> Iterator[str]:
    """Yield the evidence for an answer, in order: runs with versions and files, pages, the person's words."""
    submitted = _newest_where(
        envelopes, index, lambda earlier: isinstance(earlier, e.TaskSubmitted) and earlier.task_id == task_id
    )
    calls: dict[str, e.ToolCalled] = {}
    added = of_kind(envelopes[:index], e.ArtefactAdded)
    names = {file.artefact.handle: file.artefact.name for file in added}
    for envelope in envelopes[submitted or 0 : index]:
        if envelope.task_id not in ("", task_id):
            continue
        match envelope.event:
            case e.ToolCalled(call_id=call_id) as call:
                calls[call_id] = call
            case e.ToolReturned(call_id=call_id, report=report) if call_id in calls:
                call = calls[call_id]
                inputs = ", ".join((*(file.name for file in call.files), *call.references))
                with_inputs = f"with {inputs}, " if inputs else ""
                yield (
                    f"It rests on {call.name} v{call.version} ({call.digest[:12]}), {with_inputs}event {envelope.seq}, "
                    f"{report.duration_ms:.0f} ms."
                )
            case e.PageRead(url=url):
                yield f"It rests on {url}, event {envelope.seq}."
            case e.ContextGiven(blocks=blocks):
                sources = [block for block in blocks if block.name in ("documents", "repository")]
                yield from (f"It may rest on {block.source}, event {envelope.seq}." for block in sources)
            case e.LookedBack(handle=handle) if handle:
                yield f"It rests on the file {names.get(handle, handle)}, event {envelope.seq}."
            case e.QuestionAnswered(text=text):
                yield f"It rests on what you answered: {text}"
            case _:
                pass


def _allowed(envelopes: Sequence[Envelope], index: int, digest: str) -> str:
    def registered(event: e.SessionEvent) -> bool:
        return isinstance(event, e.ToolRegistered) and event.card.digest == digest

    registration = _newest_where(envelopes, index, registered)
    if registration is None:
        return f"It may run: it was in the library before, as {digest[:12]}."
    event = envelopes[registration].event
    assert isinstance(event, e.ToolRegistered)
    return f"It may run: {digest[:12]} was approved in this session ({event.approval_id}, event {registration + 1})."


def _action_of(envelopes: Sequence[Envelope], index: int) -> int | None:
    """Return the index of an event's action: the one with its action id, or else the newest of the same step."""
    event, step = envelopes[index].event, envelopes[index].step
    if not step or isinstance(event, e.ModelReplied | e.TaskSubmitted):
        return None
    action_id = getattr(event, "action_id", "")
    for position in range(index, -1, -1):
        earlier = envelopes[position].event
        if envelopes[position].task_id not in ("", envelopes[index].task_id) and envelopes[index].task_id:
            continue  # an event of another task that runs side by side
        if isinstance(earlier, e.ActionChosen) and (earlier.action_id == action_id if action_id else True):
            return position if action_id or envelopes[position].step == step else None
        if isinstance(earlier, e.TaskSubmitted):
            return None
    return None


# --- what it changed -------------------------------------------------------------------------


def _changed(before: SessionView, after: SessionView) -> Iterator[str]:
    if after.phase != before.phase:
        yield f"The agent: {before.phase} → {after.phase}."
    if len(after.tasks) > len(before.tasks):
        yield "A task began."
    if after.task is not None and before.task is not None and after.task.outcome != before.task.outcome:
        yield f"The task: {after.task.outcome or 'runs'}."
    if after.plan != before.plan:
        yield f"The plan has {len(after.plan)} steps." if after.plan else "The plan is put away."
    earlier_cards = {card.name: card for card in before.library}
    for card in after.library:
        earlier = earlier_cards.get(card.name)
        if earlier is None or earlier.version != card.version:
            yield f"Library: {card.name} v{card.version} joined."
        elif earlier != card:
            failed = f", {card.failures} failed" if card.failures else ""
            yield f"Library: {card.name} has run {counted(card.runs, 'time')}{failed}."
    states = {build.build_id: build.status for build in before.builds}
    for build in list(reversed(list(after.builds)))[:3]:
        if states.get(build.build_id) != build.status:
            since = states.get(build.build_id)
            yield f"Build {build.name}: {f'{since} → ' if since else ''}{build.status}."
    yield from _changed_parts(before, after)


def _changed_parts(before: SessionView, after: SessionView) -> Iterator[str]:
    yield from (f"Running: {name}." for call, name in after.calls if (call, name) not in before.calls)
    yield from (
        f"No longer running: {name}." for call, name in before.calls if (call, name) not in after.calls
    )
    if after.question != before.question:
        yield "A question waits for you." if after.question else "The question is answered."
    if after.runs != before.runs and after.runs:
        yield f"Sandbox: {after.runs[-1].title}, {after.runs[-1].status}."
    if after.sandbox != before.sandbox and after.sandbox:
        yield f"Sandbox: {'ready' if after.sandbox.available else 'not there'}."
    if after.spend.total_usd != before.spend.total_usd:
        yield f"Spend: {dollars(before.spend.total_usd)} → {dollars(after.spend.total_usd)}."
    if after.providers != before.providers:
        yield from (
            f"Model {provider.model}: {provider.state}."
            for provider in after.providers
            if provider not in before.providers
        )
    if len(after.trace) > len(before.trace):
        yield f"{counted(len(after.trace) - len(before.trace), 'new step')} in the trace."


# --- what it cost ----------------------------------------------------------------------------


def _cost(envelopes: Sequence[Envelope], index: int, view: SessionView) -> Iterator[str]:
    envelope = envelopes[index]
    event = envelope.event
    if index:
        waited = (envelope.at - envelopes[index - 1].at).total_seconds()
        yield f"{waited:.1f} s since the event before." if waited >= 0.05 else ""
    if isinstance(event, e.ModelReplied):
        usage = event.usage
        yield f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {event.duration_ms / 1000:.1f} s."
        yield _paid(envelopes, index, event)
    report = getattr(event, "report", None)
    reports = getattr(event, "reports", ())
    for run in (report, *reports):
        if isinstance(run, RunReport):
            memory = f", {run.peak_memory_bytes / 2**20:.0f} MB at most" if run.peak_memory_bytes else ""
            yield f"Sandbox: {run.duration_ms:.0f} ms{memory}."
    if isinstance(event, e.BudgetSpent):
        cost = "no known price" if event.cost_usd is None else dollars(event.cost_usd)
        yield f"{cost}, {event.tokens:,} tokens, {event.model}."
    if envelope.step:
        yield _step_cost(envelopes, index)
    spend = view.spend
    yield f"The session so far: {dollars(spend.total_usd)}, {counted(settled_calls(spend), 'model call')}."


def _paid(envelopes: Sequence[Envelope], index: int, reply: e.ModelReplied) -> str:
    if reply.cached:
        return "Nothing: the very same was asked before."
    for envelope in envelopes[index : index + 8]:
        if isinstance(envelope.event, e.BudgetSpent) and envelope.event.call_id == reply.call_id:
            cost = envelope.event.cost_usd
            return "No known price." if cost is None else f"{dollars(cost)}."
    return ""


def _step_cost(envelopes: Sequence[Envelope], index: int) -> str:
    """Return the cost of the event's step."""
    step = envelopes[index].step
    first = last = index
    while first and envelopes[first - 1].step == step:
        first -= 1
    while last + 1 < len(envelopes) and envelopes[last + 1].step == step:
        last += 1
    step_envelopes = envelopes[first : last + 1]
    usd = sum(spent.cost_usd or 0.0 for spent in of_kind(step_envelopes, e.BudgetSpent))
    calls = sum(isinstance(envelope.event, e.ModelReplied) for envelope in step_envelopes)
    seconds = (step_envelopes[-1].at - step_envelopes[0].at).total_seconds()
    return f"Step {step} as a whole: {dollars(usd)}, {counted(calls, 'model call')}, {seconds:.1f} s."


# --- looking back ----------------------------------------------------------------------------


def _newest_of(
    envelopes: Sequence[Envelope], index: int, kind: type | UnionType, task_id: e.TaskId | None = None
) -> int | None:
    """Return the index of the newest event of a kind at or before `index`; of a task, by default the event's own."""
    task_ids = ("", envelopes[index].task_id if task_id is None else task_id)
    for position in range(index, -1, -1):
        envelope = envelopes[position]
        if isinstance(envelope.event, kind) and (not task_ids[1] or envelope.task_id in task_ids):
            return position
    return None


def _newest_where(
    envelopes: Sequence[Envelope], index: int, matches: Callable[[e.SessionEvent], bool]
) -> int | None:
    return next((position for position in range(index, -1, -1) if matches(envelopes[position].event)), None)


def _lessons_of(envelopes: Sequence[Envelope], task_id: e.TaskId) -> Iterator[str]:
    """Yield what was learned from a rated task; the rating changes its weight."""
    for envelope in envelopes:
        if isinstance(envelope.event, e.MemoryWritten) and envelope.task_id == task_id:
            item = envelope.event.item
            if item.steps or item.origin in ("task", "result"):
                yield f"It weighs what was learned then: {item.text} (alita memory show {item.item_id})"


def _row_title(envelope: Envelope, lead: str = "") -> str:
    rows = rows_for(envelope)
    return f"{lead}{rows[0].title}" if rows else ""


def _build(view: SessionView, build_id: str) -> BuildState | None:
    return next((build for build in reversed(list(view.builds)) if build.build_id == build_id), None)
