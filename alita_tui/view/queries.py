"""Queries on a view that several screens need."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Literal

import msgspec

from alita_tui import events as e
from alita_tui.events import Twin
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import History, between
from alita_tui.spine.text import counted, one_line
from alita_tui.state.build import BuildState, merge_reason
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.plan import unticked

Mark = Literal["task", "thought", "build", "approval", "run", "error", "answer"]


def pending(view: SessionView) -> tuple[BuildState, ...]:
    """Return the builds that wait for a verdict, oldest first."""
    return tuple(build for build in view.builds if build.status == "pending")


def plan_note(view: SessionView) -> str:
    """Return what the ticks of the plan on screen leave open, in words."""
    task = next((task for task in reversed(view.tasks) if task.task_id == view.state.focus), view.task)
    return unticked(view.plan, view.state.ticks, task.outcome if task is not None else None)


def waiting_words(view: SessionView) -> str:
    """Return a sentence about the builds that wait for a decision; empty if none does."""
    builds = pending(view)
    if not builds:
        return ""
    name = f"{one_line(builds[0].name, 60)} v{builds[0].version}"
    if len(builds) == 1:
        return f"{name} waits for your decision."
    return f"{name} and {counted(len(builds) - 1, 'more build')} wait for your decision."


def build(view: SessionView, build_id: str) -> BuildState | None:
    """Return a build by its id; None if there is none."""
    return next((candidate for candidate in view.builds if candidate.build_id == build_id), None)


def events_of(envelopes: Iterable[Envelope], build_id: str) -> list[Envelope]:
    """Return a build's events; a history is read only from where the build began."""
    started = (
        envelope.seq or 0
        for envelope in (envelopes.newest(e.BuildStarted) if isinstance(envelopes, History) else ())
        if isinstance(envelope.event, e.BuildStarted) and envelope.event.build_id == build_id
    )
    since = next(started, 0)
    relevant = between(envelopes, since - 1, sys.maxsize) if isinstance(envelopes, History) else envelopes
    return [envelope for envelope in relevant if getattr(envelope.event, "build_id", "") == build_id]


def build_of(envelopes: Iterable[Envelope], build_id: str) -> BuildState | None:
    """Return a build from its own events alone."""
    ours = events_of(envelopes, build_id)
    view = fold_all(msgspec.structs.replace(envelope, seq=number) for number, envelope in enumerate(ours, 1))
    return build(view, build_id)


def mark(envelope: Envelope) -> Mark | None:
    """Return an event's mark on the timeline, if any."""
    match envelope.event:
        case e.TaskSubmitted():
            return "task"
        case e.ModelReplied(role="orchestrator"):
            return "thought"
        case (
            e.BuildStarted()
            | e.BuildDrafted()
            | e.BuildTested(passed=True)
            | e.ToolRegistered()
            | e.ToolAliased()
        ):
            return "build"
        case e.ApprovalRequested() | e.ApprovalResolved():
            return "approval"
        case e.ToolCalled():
            return "run"
        case e.ActionFailed() | e.ActionMalformed() | e.ToolFailed() | e.BuildFailed() | e.ModelFailed():
            return "error"
        case e.BuildTested(passed=False) | e.NoticeRaised(level="error") | e.UnknownEvent():
            return "error"
        case e.TaskFinished(outcome="parked"):
            return None  # what it waits for is marked
        case e.TaskFinished(outcome=outcome):
            return "answer" if outcome == "answered" else "error"
        case _:
            return None


def merge_of(twin: Twin) -> tuple[str, tuple[str, ...]]:
    """Return reason and tags of a rejection in favour of one tool that does the work of both."""
    return merge_reason(twin), ("duplicate",)


def reuse_of(twin: Twin) -> tuple[str, tuple[str, ...]]:
    """Return reason and tags of a rejection in favour of an existing tool."""
    return f"use run_tool {twin.name}: {twin.label} gives the same answers", ("duplicate",)
