"""reduce(state, envelope) → state: the one place that knows what an event means. Pure and exhaustive."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.events import GateResult, RunReport, StepStatus, TaskOutcome, ToolCard
from alita_tui.events.build import CHECKS
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.gc_pause import gc_paused
from alita_tui.state import agents, lanes, providers, queue, ratings, servers, spend
from alita_tui.state.build import Attempt, BuildState, BuildStatus, asked_by
from alita_tui.state.rows import Rows
from alita_tui.state.session import Phase, Question, Run, SessionState, TaskState

_RUNS = 40
"""Number of newest runs in the state."""
_PHASE_OF_ACTION: dict[str, Phase] = {"build_tool": "building", "run_tool": "running", "wait": "waiting"}


def reduce_all(envelopes: Iterable[Envelope], state: SessionState | None = None) -> SessionState:
    """Return the state after all events of a stream."""
    state = state or SessionState()
    with gc_paused():
        for envelope in envelopes:
            state = reduce(state, envelope)
    return state


def reduce(state: SessionState, envelope: Envelope) -> SessionState:
    """Return the state after one more event. Transient events, and those it has seen already, change nothing."""
    if envelope.seq is None or envelope.seq <= state.seq:
        return state
    focus = state.focus
    lane = lanes.owner(state, envelope) if state.lanes else e.NO_TASK
    if lane:
        state = lanes.turned(state, lane)
    agent = agents.of(state.agents, envelope.delegate)
    lead = state
    if agent:
        state = agents.turned(state, agent, envelope.event)
    stranger = state.lanes and envelope.task_id not in ("", state.focus)  # it has ended; others run
    state = replace(
        state,
        session_id=envelope.session_id,
        seq=envelope.seq,
        at=envelope.at,
        step=(0 if stranger else envelope.step) or state.step,  # 0: the event belongs to no task
    )
    event = envelope.event
    if isinstance(event, servers.ServerEvent):
        used_servers = servers.after(state.servers, envelope, event)
        state = state if used_servers is state.servers else replace(state, servers=used_servers)
    state = _apply(state, envelope)
    if agent:
        state = agents.turned_back(replace(state, agents=agents.paid(state.agents, envelope)), agent, lead)
    if lane:
        return lanes.turned_back(state, focus)
    return lanes.ended(state) if isinstance(event, e.TaskFinished) and event.task_id == focus else state


def _apply(state: SessionState, envelope: Envelope) -> SessionState:  # noqa: C901  # one match over all kinds
    event = envelope.event
    match event:  # the most frequent kinds first
        case e.BudgetReserved():
            return state
        case e.ModelReplied(role=role):
            phase: Phase = "acting" if role in ("orchestrator", "specialist") else state.phase
            return replace(
                state,
                spend=spend.after_reply(state.spend, event),
                phase=phase,
                providers=providers.after_reply(state.providers, event),
            )
        case e.BudgetSpent(build_id=build_id, build_usd=usd, build_limit_usd=limit):
            state = replace(state, spend=spend.after_payment(state, envelope.at, event))
            return _with_build(state, build_id, spent_usd=usd, limit_usd=limit) if build_id else state
        case e.ActionChosen(action=action):
            return replace(state, phase=_PHASE_OF_ACTION.get(action, "acting"))
        case e.GateChecked(build_id=build_id, result=result):
            return _change_build(state, build_id, lambda build: _with_gate(build, result))
        case e.SessionOpened():
            return replace(
                state, title=event.title, model=event.model, recorded=event.recorded, parent=event.parent
            )
        case e.LibraryLoaded(tools=tools):
            return replace(state, library=tools)
        case e.SandboxChecked(status=status):
            return replace(state, sandbox=status)
        case e.SessionResumed():
            state = replace(lanes.reopened(state), providers=providers.reopened(state.providers))
            return replace(state, phase="idle") if state.phase == "closed" else state
        case e.SessionClosed():
            return replace(state, phase="closed")
        case e.TaskSubmitted(task_id=task_id, text=text, again=again, files=files, queue_id=queue_id):
            if envelope.task_id and state.focus not in ("", again) and lanes.runs(state):
                state = lanes.set_aside(state)
            return replace(
                state,
                title=state.title or text,
                tasks=state.tasks.append(TaskState(task_id, text, envelope.at, again, files)),
                queue=queue.without(state.queue, queue_id) if queue_id else state.queue,
                focus=task_id,
                taken_up=False,
                plan=(),
                ticks=(),
                question=None,
                calls=state.calls if not state.lanes else (),
                phase="thinking",
                step=0,
                spend=spend.after_submission(state.spend),
            )
        case e.TaskQueued() | e.TaskEdited() | e.TaskMoved() | e.TaskCancelled():
            return replace(state, queue=queue.after(state.queue, event, envelope.at))
        case e.QueueSwitched(paused=paused):
            return replace(state, paused=paused)
        case e.ArtefactAdded(artefact=artefact, origin=origin):
            other_files = (
                file
                for file in state.artefacts
                if (file.handle, file.name) != (artefact.handle, artefact.name)
            )
            given_handles = state.given | {artefact.handle} if origin == "person" else state.given
            return replace(state, artefacts=(*other_files, artefact), given=given_handles)
        case e.PlanProposed(steps=steps, status=status):
            return replace(state, plan=steps, ticks=status, phase="thinking")
        case e.QuestionAsked(question_id=question_id, text=text, about=about, choices=choices):
            return replace(state, question=Question(question_id, text, about, choices), phase="asking")
        case e.QuestionAnswered():
            return replace(state, question=None, phase="thinking")
        case e.ServerQuestion(question_id=question_id, text=text, choices=choices):
            return replace(state, question=Question(question_id, text, "server", choices), phase="asking")
        case e.ServerQuestionEnded():
            return replace(state, question=None, phase="running")
        case e.TaskFinished():
            return _finish(state, event)
        case e.AgentStarted() | e.AgentEnded():
            return replace(state, agents=agents.after(state.agents, envelope))
        case e.ProviderChanged():
            return replace(state, providers=providers.after_change(state.providers, envelope.at, event))
        case (
            e.ActionFailed()
            | e.ActionMalformed()
            | e.AgentNudged()
            | e.WebSearched()
            | e.LookedBack()
            | e.WaitEnded()
        ):
            return replace(state, phase="thinking")
        case e.PageRead():
            return replace(state, phase="thinking", spend=spend.after_page(state.spend, event))
        case e.ToolSearched(hits=hits):
            return replace(state, phase="thinking", touched=hits[0].card.name if hits else state.touched)
        case e.ToolRegistered(build_id=build_id, card=card, lasting=lasting):
            state = _with_build(state, build_id, status="registered" if lasting == "library" else "lent")
            return replace(state, library=_with_card(state.library, card), touched=card.name)
        case e.ToolAliased(build_id=build_id, target=target):
            return replace(_with_build(state, build_id, status="linked"), touched=target.name)
        case e.ToolCalled(call_id=call_id, name=name):
            return replace(state, phase="running", calls=(*state.calls, (call_id, name)), touched=name)
        case e.ToolReturned(call_id=call_id, report=report) | e.ToolFailed(call_id=call_id, report=report):
            return _end_call(state, envelope, call_id, report)
        case e.ToolDemoted(name=name, version=version, state=demoted):
            library = tuple(
                replace(card, state=demoted) if (card.name, card.version) == (name, version) else card
                for card in state.library
            )
            return replace(state, library=library)
        case e.ToolSuspended(name=name, version=version):
            remaining = tuple(card for card in state.library if (card.name, card.version) != (name, version))
            return replace(state, library=remaining)
        case e.MemoryRecalled(items=items):
            return replace(state, recalled=items)
        case e.ContextSwitched(block=block, on=on):
            return replace(state, switches=tuple({**dict(state.switches), block: on}.items()))
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
            return _apply_to_build(state, envelope, event)
        case e.FeedbackGiven():
            return replace(state, ratings=ratings.after(state.ratings, event))
        case (
            e.Steered()
            | e.DirectorChosen()
            | e.AnswerVerified()
            | e.TaskEstimated()
            | e.PlansWeighed()
            | e.Interrupted()
            | e.NoticeRaised()
            | e.ServerStarted()
            | e.ServerStopped()
            | e.ServerAsked()
            | e.ModelFailed()
            | e.MemoryWritten()
            | e.MemoryForgotten()
            | e.ContextTrimmed()
            | e.ContextSummarised()
            | e.ContextGiven()
            | e.ProviderFailedOver()
            | e.BudgetRaised()
            | e.BrokerAnswered()
            | e.PageLogged()
            | e.UnknownEvent()
            | e.ModelDelta()
            | e.OutputChunk()
            | e.Progressed()
            | e.SavingStalled()
            | e.WorkHeld()
        ):
            return state
        case _:
            assert_never(event)


def _finish(state: SessionState, event: e.TaskFinished) -> SessionState:
    tasks = state.tasks.change_newest(
        lambda task: task.task_id == event.task_id,
        lambda task: replace(
            task,
            outcome=event.outcome,
            answer=event.answer,
            reason=event.reason,
            hint=event.hint,
            ended=state.at,
            usd=spend.of_task(state.spend),
        ),
    )
    return replace(
        state,
        tasks=tasks,
        ticks=tuple(map(partial(_tick_at_end, event.outcome), state.ticks)),
        phase="parked" if event.outcome == "parked" else "idle",
        taken_up=False,
        question=state.question if event.outcome == "parked" else None,
    )


def _tick_at_end(outcome: TaskOutcome, tick: StepStatus) -> StepStatus:
    """Return a step's status after its task ended: a step in progress is done, or failed with the task."""
    if tick != "doing" or outcome in ("parked", "budget"):
        return tick
    return "done" if outcome == "answered" else "failed"


# --- builds -------------------------------------------------------------------------------

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


def _apply_to_build(state: SessionState, envelope: Envelope, event: BuildEvent) -> SessionState:
    build_id = event.build_id
    match event:
        case e.BuildStarted():
            build = BuildState(
                build_id=build_id,
                action_id=event.action_id,
                name=event.name,
                version=event.version,
                goal=event.goal,
                task_id=envelope.task_id or (state.task.task_id if state.task else e.NO_TASK),
                task=event.task,
                step=envelope.step,
                parent=event.parent,
                examples=event.examples,
                near_misses=event.near_misses,
                sources=event.sources,
                lessons=event.lessons,
            )
            return replace(state, builds=state.builds.append(asked_by(build, envelope)), phase="building")
        case e.BuildDrafted():
            attempt = Attempt(event.attempt, event.author, event.model, event.draft, event.digest)
            attempt = replace(attempt, language_reason=event.language_reason)
            return _change_build(
                state,
                build_id,
                lambda build: replace(build, status="reviewing", attempts=(*build.attempts, attempt)),
            )
        case e.BuildReviewed(passed=passed):
            status: BuildStatus = "locking" if passed else "repairing"
            return _with_attempt(
                state, build_id, status, findings=event.findings, imports=event.imports, reviewed=passed
            )
        case e.RequirementsLocked(lock=lock, problem=problem):
            status = "repairing" if problem else "testing"
            return _with_attempt(state, build_id, status, lock=lock, lock_problem=problem)
        case e.BuildTested():
            return _tested(state, envelope, event)
        case e.BuildFailed():
            return _with_build(state, build_id, status="failed")
        case e.ApprovalRequested():
            state = _with_build(
                state,
                build_id,
                status="pending",
                approval_id=event.approval_id,
                digest=event.digest,
                requested_at=envelope.at,
            )
            return _turn_to(state, build_id, "waiting")
        case e.BuildPutOff():
            return replace(_with_build(state, build_id, put_off=True), phase="thinking")
        case e.ApprovalResolved():
            state = _with_build(
                state,
                build_id,
                status=event.verdict.decision,
                resolved_at=envelope.at,
                verdict=event.verdict,
            )
            return _turn_to(state, build_id, "building")
        case _:
            assert_never(event)


def _tested(state: SessionState, envelope: Envelope, event: e.BuildTested) -> SessionState:
    if event.granted.none:
        state = _with_attempt(
            state,
            event.build_id,
            "repairing",
            reports=event.reports,
            passed=event.passed,
            problem=event.problem,
        )
    else:  # a person had it tested again: nothing is left to do but to ask again
        state = _with_attempt(
            state,
            event.build_id,
            "retested",
            granted=event.granted,
            granted_reports=event.reports,
            granted_problem=event.problem,
        )
    build = state.build(event.build_id)
    title = f"self-tests of {build.name if build else event.build_id}"
    runs = (Run(event.build_id, title, envelope.at, report) for report in event.reports[-1:])
    return replace(state, runs=(*state.runs, *runs)[-_RUNS:])


def _turn_to(state: SessionState, build_id: str, phase: Phase) -> SessionState:
    """Return the state in another phase, unless the build was put off: the agent does something else then."""
    build = state.build(build_id)
    return state if build and build.put_off else replace(state, phase=phase)


def _change_build(
    state: SessionState, build_id: str, change: Callable[[BuildState], BuildState]
) -> SessionState:
    builds: Rows[BuildState] = state.builds.change_newest(lambda build: build.build_id == build_id, change)
    return replace(state, builds=builds)


def _with_build(session: SessionState, build_id: str, **changes: object) -> SessionState:
    return _change_build(session, build_id, lambda build: replace(build, **changes))


def _with_attempt(state: SessionState, build_id: str, status: BuildStatus, **changes: object) -> SessionState:
    """Change the newest draft of a build."""

    def change(build: BuildState) -> BuildState:
        if not build.attempts:
            return build
        attempts = (*build.attempts[:-1], replace(build.attempts[-1], **changes))
        return replace(build, status=status, attempts=attempts)

    return _change_build(state, build_id, change)


def _with_gate(build: BuildState, result: GateResult) -> BuildState:
    """Return the build with a check's result for its newest draft, in place of that check's earlier result."""
    if not build.attempts:
        return build
    newest = build.attempts[-1]
    remaining = [earlier for earlier in newest.gates if earlier.gate != result.gate]
    order = list(CHECKS)
    gates = tuple(sorted((*remaining, result), key=lambda checked: order.index(checked.gate)))
    return replace(build, attempts=(*build.attempts[:-1], replace(newest, gates=gates)))


# --- calls and the library ----------------------------------------------------------------


def _end_call(
    state: SessionState, envelope: Envelope, call_id: str, report: RunReport | None
) -> SessionState:
    name = next((name for open_id, name in state.calls if open_id == call_id), call_id)
    calls = tuple(call for call in state.calls if call[0] != call_id)
    state = replace(state, calls=calls, phase="running" if calls else "thinking")
    if report is None:
        return state
    failed = report.status != "ok"
    return replace(
        state,
        spend=state.spend if failed else spend.after_run(state, name),
        runs=(*state.runs, Run(call_id, name, envelope.at, report))[-_RUNS:],
        library=tuple(_counted(card, failed) if card.name == name else card for card in state.library),
    )


def _counted(card: ToolCard, failed: bool) -> ToolCard:
    return replace(card, runs=card.runs + 1, failures=card.failures + failed)


def _with_card(library: tuple[ToolCard, ...], card: ToolCard) -> tuple[ToolCard, ...]:
    return tuple(sorted((*(old for old in library if old.name != card.name), card), key=lambda old: old.name))
