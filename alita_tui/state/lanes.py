"""Tasks that run side by side. The state describes one of them; each other one has its fields in a lane.

A session whose tasks run one after another has no lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from alita_tui.events import NO_TASK, CallId, StepStatus, TaskId
from alita_tui.state.spend import Share

if TYPE_CHECKING:
    from alita_tui.spine.envelope import Envelope
    from alita_tui.state.session import Phase, Question, SessionState


class Lane(msgspec.Struct, frozen=True, gc=False):
    """The fields of the state that belong to one task."""

    task_id: TaskId
    phase: Phase = "thinking"
    step: int = 0
    plan: tuple[str, ...] = ()
    ticks: tuple[StepStatus, ...] = ()
    question: Question | None = None
    calls: tuple[tuple[CallId, str], ...] = ()
    task_usd: float = 0.0
    task_limit_usd: float | None = None
    by_step: tuple[Share, ...] = ()


def owner(state: SessionState, envelope: Envelope) -> TaskId:
    """Return the lane that an event belongs to; empty for the task that the state describes, or for no task."""
    task_id = envelope.task_id
    if not task_id or task_id == state.focus:
        return NO_TASK
    return task_id if any(lane.task_id == task_id for lane in state.lanes) else NO_TASK


def turned(state: SessionState, task_id: TaskId) -> SessionState:
    """Return the state with the task of a lane in focus; the task that was in focus moves to a lane."""
    lane = next(lane for lane in state.lanes if lane.task_id == task_id)
    current = _lane(state)
    lanes = tuple(current if lane_now is lane else lane_now for lane_now in state.lanes)
    return _focused_on(replace(state, lanes=lanes), lane)


def set_aside(state: SessionState) -> SessionState:
    """Return the state with its task moved to a lane, because another one begins beside it."""
    return replace(state, lanes=(*state.lanes, _lane(state)))


def ended(state: SessionState) -> SessionState:
    """Return the state, whose task has ended, with the newest running task in focus."""
    if not state.lanes:
        return state
    return _focused_on(replace(state, lanes=state.lanes[:-1]), state.lanes[-1])


def turned_back(state: SessionState, task_id: TaskId) -> SessionState:
    """Return the state with the previous task in focus again; the other one takes its lane, unless it has ended."""
    index = next((n for n, lane in enumerate(state.lanes) if lane.task_id == task_id), None)
    if index is None:
        return state
    lane = state.lanes[index]
    current = (_lane(state),) if runs(state) else ()
    return _focused_on(
        replace(state, lanes=(*state.lanes[:index], *current, *state.lanes[index + 1 :])), lane
    )


def runs(state: SessionState) -> bool:
    """Return whether the task in focus runs, or will when its session is taken up."""
    for task in reversed(state.tasks):
        if task.task_id == state.focus:
            going = state.taken_up or state.phase not in ("idle", "parked", "closed")
            return task.outcome is None or (task.outcome in ("parked", "budget") and going)
    return False


def running(state: SessionState) -> tuple[TaskId, ...]:
    """Return the ids of the tasks that run, in the order in which they began."""
    focused = {state.focus} if runs(state) else set()
    ids = focused | {lane.task_id for lane in state.lanes}
    return tuple(task.task_id for task in state.tasks if task.task_id in ids) if len(ids) > 1 else (*ids,)


def phase_of(state: SessionState, task_id: TaskId) -> Phase:
    """Return the phase of a running task. One that waited for the person when its session was quit still does."""
    for lane in state.lanes:
        if lane.task_id == task_id:
            return lane.phase
    if state.phase not in ("idle", "parked") or not runs(state):
        return state.phase
    if state.question:
        return "asking"
    waits = any(
        build.task_id == state.focus and build.status == "pending" and not build.put_off
        for build in state.builds
    )
    return "waiting" if waits else state.phase


def reopened(state: SessionState) -> SessionState:
    """Return the state for another process that continues it, which checks the budget again."""
    parked = any(task.outcome == "parked" for task in state.tasks.since(len(state.tasks) - 1))
    if parked and state.tasks[-1].task_id == state.focus:
        state = replace(state, taken_up=True)
    lanes = (replace(lane, question=_asked_again(lane.question)) for lane in state.lanes)
    return replace(state, question=_asked_again(state.question), lanes=tuple(lanes))


def _asked_again(question: Question | None) -> Question | None:
    """Return the question if it still waits: whether the budget suffices is checked again."""
    return question if question and question.about == "task" else None


def _lane(state: SessionState) -> Lane:
    return Lane(
        task_id=state.focus,
        phase=state.phase,
        step=state.step,
        plan=state.plan,
        ticks=state.ticks,
        question=state.question,
        calls=state.calls,
        task_usd=state.spend.task_usd,
        task_limit_usd=state.spend.task_limit_usd,
        by_step=state.spend.by_step,
    )


def _focused_on(state: SessionState, lane: Lane) -> SessionState:
    return replace(
        state,
        focus=lane.task_id,
        phase=lane.phase,
        step=lane.step,
        plan=lane.plan,
        ticks=lane.ticks,
        question=lane.question,
        calls=lane.calls,
        spend=replace(
            state.spend, task_usd=lane.task_usd, task_limit_usd=lane.task_limit_usd, by_step=lane.by_step
        ),
    )
