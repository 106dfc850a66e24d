"""fold(view, envelope) -> view: the one place that knows what an event means on screen.

Pure and exhaustive. A durable envelope that the view has already seen changes nothing, so a
recording and a live stream may overlap. Live parts hang on `view.live` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

import msgspec
from msgspec.structs import replace

from alita_tui.spine import events as e
from alita_tui.spine.collecting import uncollected
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import SafeText, neutralise, one_line
from alita_tui.spine.values import GateResult, RunReport, ToolCard
from alita_tui.view import spending
from alita_tui.view.model import (
    GATES,
    Attempt,
    BuildState,
    BuildView,
    Live,
    LiveOutput,
    Phase,
    Question,
    SandboxRun,
    SessionView,
    TaskView,
    TraceRow,
)
from alita_tui.view.providers import changed, replied
from alita_tui.view.trace import rows_for

_LIVE_LIMIT = 16_384
_STILL = Live()
"""Nothing is growing."""
_RUNS_KEPT = 40


RowMaker = Callable[[Envelope], tuple[TraceRow, ...]]


def fold_all(
    envelopes: Iterable[Envelope], view: SessionView | None = None, rows_of: RowMaker = rows_for
) -> SessionView:
    """The view after all of a stream."""
    view = view or SessionView()
    with uncollected():
        for envelope in envelopes:
            view = fold(view, envelope, rows_of)
    return view


def fold(view: SessionView, envelope: Envelope, rows_of: RowMaker = rows_for) -> SessionView:
    """The view after one more envelope. `rows_of` makes its rows in the trace."""
    event = envelope.event
    if isinstance(event, e.ModelDelta | e.OutputChunk | e.Progressed | e.SavingStalled):
        return replace(view, live=_grow(view.live, event))
    if envelope.seq is None or envelope.seq <= view.seq:
        return view
    rows = rows_of(envelope)
    view = replace(
        view,
        session_id=envelope.session_id,
        seq=envelope.seq,
        at=envelope.at,
        step=envelope.step,
        trace=view.trace.append(*rows) if rows else view.trace,
        live=_settle(view.live, event),
    )
    return _apply(view, envelope)


def _grow(live: Live, event: e.ModelDelta | e.OutputChunk | e.Progressed | e.SavingStalled) -> Live:
    match event:
        case e.ModelDelta(role=role, channel=channel, text=text):
            grown = SafeText((getattr(live, channel) + neutralise(text))[-_LIVE_LIMIT:])
            match channel:
                case "text":
                    return replace(live, role=role, text=grown)
                case "thinking":
                    return replace(live, role=role, thinking=grown)
                case _:
                    return replace(live, role=role, arguments=grown)
        case e.OutputChunk(run_id=run_id, title=title, text=text):
            before = live.output.text if live.output and live.output.run_id == run_id else ""
            shown = SafeText((before + neutralise(text))[-_LIVE_LIMIT:])
            return replace(live, output=LiveOutput(run_id, one_line(title), shown), work=SafeText(""))
        case e.Progressed(work=work, done=done, total=total, detail=detail):
            return replace(
                live, work=one_line(work), work_detail=one_line(detail), work_done=done, work_total=total
            )
        case e.SavingStalled(text=text, hint=hint):
            return replace(live, unsaved=one_line(f"{text} {hint}", 400))
        case _:
            assert_never(event)


def _settle(live: Live, event: e.SessionEvent) -> Live:
    """Drop what a durable event supersedes."""
    if live == _STILL:  # as everywhere in a recording
        return live
    if live.unsaved:
        live = replace(live, unsaved=SafeText(""))  # it has just been recorded
    match event:
        case e.ModelReplied() | e.ModelFailed() | e.Interrupted():
            return replace(live, role="", thinking=SafeText(""), text=SafeText(""), arguments=SafeText(""))
        case e.BuildTested() | e.ToolReturned() | e.ToolFailed() | e.BuildFailed():
            return replace(live, output=None, work=SafeText(""), work_detail=SafeText(""))
        case e.TaskFinished() | e.SessionClosed() | e.SessionResumed():
            return Live()
        case e.Steered() | e.NoticeRaised():
            return live
        case _:
            return replace(live, work=SafeText(""), work_detail=SafeText("")) if live.work else live


def _apply(view: SessionView, envelope: Envelope) -> SessionView:  # noqa: C901  # one match over all kinds
    event = envelope.event
    match event:  # the most frequent kinds first: a long session is folded in one go
        case e.BudgetReserved():
            return view
        case e.ModelReplied(role=role):
            spend = spending.replied(view.spend, event)
            phase: Phase = "acting" if role == "orchestrator" else view.phase
            return replace(view, spend=spend, phase=phase, providers=replied(view.providers, event))
        case e.BudgetSpent(build_id=build_id, build_usd=usd, build_limit_usd=limit):
            view = replace(view, spend=spending.spent(view, envelope.at, event))
            return (
                _with_build(view, build_id, lambda build: replace(build, spent_usd=usd, limit_usd=limit))
                if build_id
                else view
            )
        case e.ActionChosen(action=action):
            phases: dict[str, Phase] = {"build_tool": "building", "run_tool": "running", "wait": "waiting"}
            return replace(view, phase=phases.get(action, "acting"))
        case e.GateChecked(build_id=build_id, result=result):
            return _with_build(view, build_id, lambda build: _with_gate(build, result))
        case e.SessionOpened():
            return replace(
                view,
                title=one_line(event.title),
                model=one_line(event.model),
                recorded=event.recorded,
                parent=event.parent,
            )
        case e.LibraryLoaded(tools=tools):
            return replace(view, library=tools)
        case e.SandboxChecked(status=status):
            return replace(view, sandbox=status)
        case e.SessionResumed():
            # A new process begins with closed breakers.
            fresh = tuple(
                replace(one, state="closed", reason=SafeText(""), until=None) for one in view.providers
            )
            # Whether the budget still does not do is found out anew.
            question = view.question if view.question and view.question.about == "task" else None
            now: Phase = "idle" if view.phase == "closed" else view.phase
            return replace(view, phase=now, providers=fresh, question=question)
        case e.SessionClosed():
            return replace(view, phase="closed")
        case e.TaskSubmitted(task_id=task_id, text=text, again=again):
            task = TaskView(task_id, neutralise(text), envelope.at, again)
            title = view.title or one_line(text, 80)
            view = replace(view, title=title, tasks=view.tasks.append(task), plan=(), phase="thinking")
            return replace(view, spend=spending.begun(view.spend))
        case e.PlanProposed(steps=steps):
            return replace(view, plan=tuple(one_line(step) for step in steps), phase="thinking")
        case e.QuestionAsked(question_id=question_id, text=text, about=about):
            return replace(view, question=Question(question_id, neutralise(text), about), phase="asking")
        case e.QuestionAnswered():
            return replace(view, question=None, phase="thinking")
        case e.TaskFinished():
            return _finish(view, event)
        case e.ProviderChanged():
            return replace(view, providers=changed(view.providers, envelope.at, event))
        case e.ActionFailed() | e.ActionMalformed() | e.WebSearched() | e.LookedBack() | e.WaitEnded():
            return replace(view, phase="thinking")
        case e.PageRead():
            return replace(view, phase="thinking", spend=spending.read(view.spend, event))
        case e.ToolSearched(hits=hits):
            return replace(view, phase="thinking", touched=hits[0].card.name if hits else view.touched)
        case e.ToolRegistered(build_id=build_id, card=card):
            had: BuildState = "registered" if event.lasting == "library" else "lent"
            view = _with_build(view, build_id, lambda build: replace(build, state=had))
            return replace(view, library=_shelve(view.library, card), touched=card.name)
        case e.ToolAliased(build_id=build_id, target=target):
            view = _with_build(view, build_id, lambda build: replace(build, state="linked"))
            return replace(view, touched=target.name)
        case e.ToolCalled(call_id=call_id, name=name):
            return replace(view, phase="running", calls=(*view.calls, (call_id, name)), touched=name)
        case e.ToolReturned(call_id=call_id, report=report):
            return _end_call(view, envelope, call_id, report)
        case e.ToolFailed(call_id=call_id, report=failed):
            return _end_call(view, envelope, call_id, failed)
        case e.ToolDemoted(name=name, version=version, state=demoted):
            library = tuple(
                msgspec.structs.replace(card, state=demoted)
                if (card.name, card.version) == (name, version)
                else card
                for card in view.library
            )
            return replace(view, library=library)
        case e.MemoryRecalled(items=items):
            return replace(view, recalled=items)
        case (
            e.BuildStarted()
            | e.BuildDrafted()
            | e.BuildReviewed()
            | e.RequirementsLocked()
            | e.BuildTested()
            | e.BuildFailed()
            | e.ApprovalRequested()
            | e.ApprovalResolved()
            | e.BuildPutOff()
        ):
            return _build(view, envelope, event)
        case e.Steered() | e.Interrupted() | e.NoticeRaised() | e.ModelFailed() | e.MemoryWritten():
            return view
        case e.TaskQueued():
            return view
        case e.ContextTrimmed() | e.ContextSummarised():
            return view
        case e.ProviderFailedOver() | e.BudgetRaised():
            return view
        case (
            e.BrokerAnswered()
            | e.UnknownEvent()
            | e.ModelDelta()
            | e.OutputChunk()
            | e.Progressed()
            | e.SavingStalled()
        ):
            return view
        case _:
            assert_never(event)


def _finish(view: SessionView, event: e.TaskFinished) -> SessionView:
    ended = {
        "outcome": event.outcome,
        "answer": neutralise(event.answer),
        "reason": neutralise(event.reason),
        "hint": neutralise(event.hint),
    }
    tasks = view.tasks.change_newest(
        lambda task: task.task_id == event.task_id, lambda task: replace(task, **ended)
    )
    phase: Phase = "parked" if event.outcome == "parked" else "idle"
    return replace(view, tasks=tasks, phase=phase, question=None)


BuildEvent = (
    e.BuildStarted
    | e.BuildDrafted
    | e.BuildReviewed
    | e.RequirementsLocked
    | e.BuildTested
    | e.BuildFailed
    | e.ApprovalRequested
    | e.ApprovalResolved
    | e.BuildPutOff
)


def _build(view: SessionView, envelope: Envelope, event: BuildEvent) -> SessionView:
    match event:
        case e.BuildStarted():
            build = BuildView(
                build_id=event.build_id,
                action_id=event.action_id,
                name=event.name,
                version=event.version,
                goal=event.goal,
                task_id=view.task.task_id if view.task else "",
                task=event.task,
                step=envelope.step,
                parent=event.parent,
                near_misses=event.near_misses,
                sources=event.sources,
                lessons=event.lessons,
            )
            return replace(view, builds=view.builds.append(build), phase="building")
        case e.BuildDrafted():
            attempt = Attempt(event.attempt, event.author, event.model, event.draft, event.digest)
            return _with_build(
                view,
                event.build_id,
                lambda build: replace(build, state="reviewing", attempts=(*build.attempts, attempt)),
            )
        case e.BuildReviewed(build_id=build_id, passed=passed):
            state: BuildState = "locking" if passed else "repairing"
            return _with_attempt(
                view, build_id, state, findings=event.findings, imports=event.imports, reviewed=passed
            )
        case e.RequirementsLocked(build_id=build_id, lock=lock, problem=problem):
            return _with_attempt(
                view, build_id, "repairing" if problem else "testing", lock=lock, lock_problem=problem
            )
        case e.BuildTested(build_id=build_id, passed=passed, reports=reports, problem=problem):
            # What a person had tested again waits for nothing but being asked again.
            now: BuildState = "repairing" if event.granted.none else "retested"
            if event.granted.none:
                seen = {"reports": reports, "passed": passed, "problem": problem}
            else:
                seen = {"granted": event.granted, "granted_reports": reports, "granted_problem": problem}
            view = _with_attempt(view, build_id, now, **seen)
            name = next((b.name for b in reversed(view.builds) if b.build_id == build_id), build_id)
            runs = (_run(build_id, f"self-tests of {name}", envelope, report) for report in reports[-1:])
            return replace(view, runs=(*view.runs, *runs)[-_RUNS_KEPT:])
        case e.BuildFailed(build_id=build_id, reason=reason):
            return _with_build(
                view,
                build_id,
                lambda build: replace(build, state="failed", reason=reason or build.reason),
            )
        case e.ApprovalRequested(build_id=build_id):
            view = _with_build(
                view,
                build_id,
                lambda build: replace(
                    build,
                    state="pending",
                    approval_id=event.approval_id,
                    digest=event.digest,
                    requested_at=envelope.at,
                ),
            )
            return _turn(view, build_id, "waiting")
        case e.BuildPutOff(build_id=build_id):
            view = _with_build(view, build_id, lambda build: replace(build, put_off=True))
            return replace(view, phase="thinking")
        case e.ApprovalResolved(build_id=build_id, verdict=verdict, by=by):
            view = _with_build(
                view,
                build_id,
                lambda build: replace(
                    build,
                    state=verdict,
                    resolved_at=envelope.at,
                    reason=event.why,
                    by=by,
                    lasting=event.lasting,
                    grants=event.grants,
                    accepted=event.accepted,
                    banned=event.banned,
                    alias_of=event.alias_of,
                ),
            )
            return _turn(view, build_id, "building")
        case _:
            assert_never(event)


def _turn(view: SessionView, build_id: str, phase: Phase) -> SessionView:
    """What the agent does now because of a build; one that was put off is beside what it does."""
    build = next((one for one in reversed(view.builds) if one.build_id == build_id), None)
    return view if build and build.put_off else replace(view, phase=phase)


def _with_build(view: SessionView, build_id: str, change: Callable[[BuildView], BuildView]) -> SessionView:
    return replace(view, builds=view.builds.change_newest(lambda build: build.build_id == build_id, change))


def _with_attempt(view: SessionView, build_id: str, state: BuildState, **seen: object) -> SessionView:
    def change(build: BuildView) -> BuildView:
        if not build.attempts:
            return build
        attempts = (*build.attempts[:-1], replace(build.attempts[-1], **seen))
        return replace(build, state=state, attempts=attempts)

    return _with_build(view, build_id, change)


def _with_gate(build: BuildView, result: GateResult) -> BuildView:
    """The newest draft with what a gate found; a later look of the same gate replaces the earlier."""
    if not build.attempts:
        return build
    newest = build.attempts[-1]
    others = [one for one in newest.gates if one.gate != result.gate]
    order = list(GATES)
    gates = tuple(sorted((*others, result), key=lambda one: order.index(one.gate)))
    return replace(build, attempts=(*build.attempts[:-1], replace(newest, gates=gates)))


def _end_call(view: SessionView, envelope: Envelope, call_id: str, report: RunReport | None) -> SessionView:
    name = next((name for open_id, name in view.calls if open_id == call_id), call_id)
    calls = tuple(call for call in view.calls if call[0] != call_id)
    runs = view.runs
    library = view.library
    spend = spending.ran(view, name) if report is not None and report.status == "ok" else view.spend
    if report is not None:
        runs = (*runs, _run(call_id, name, envelope, report))[-_RUNS_KEPT:]
        failed = report.status != "ok"
        library = tuple(_counted(card, failed) if card.name == name else card for card in library)
    return replace(view, calls=calls, runs=runs, library=library, spend=spend, phase="thinking")


def _counted(card: ToolCard, failed: bool) -> ToolCard:
    return msgspec.structs.replace(card, runs=card.runs + 1, failures=card.failures + failed)


def _run(run_id: str, title: str, envelope: Envelope, report: RunReport) -> SandboxRun:
    return SandboxRun(
        run_id=run_id,
        title=one_line(title),
        at=envelope.at,
        status=report.status,
        stdout=neutralise(report.stdout),
        stderr=neutralise(report.stderr + (f"\n{report.error}" if report.error else "")),
        exit_code=report.exit_code,
        duration_ms=report.duration_ms,
        peak_memory_bytes=report.peak_memory_bytes,
        limits_hit=report.limits_hit,
        truncated=bool(report.truncated),
        reason=one_line(report.reason, 60),
        cpu_ms=report.cpu_ms,
        cases=tuple((one_line(case.name), case.passed) for case in report.cases),
    )


def _shelve(library: tuple[ToolCard, ...], card: ToolCard) -> tuple[ToolCard, ...]:
    return tuple(sorted((*(tool for tool in library if tool.name != card.name), card), key=lambda t: t.name))
