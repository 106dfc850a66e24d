"""Replies of the scripted model and tasks that many tests of the agent begin with."""

from __future__ import annotations

from typing import Any

from alita_tui import events as e
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.commands import (
    AnswerQuestion,
    Command,
    ResolveApproval,
    SubmitTask,
)
from tests.agent.lab import draft, say

TASK = SubmitTask(text="double four")


BUILD = say("build_tool", "build it", name="double_it", goal="Double any whole number.")


RUN = say("run_tool", name="double_it", arguments={"x": 4})


DONE = say("answer", text="eight")


def rules(*replies: ScriptReply, smith: tuple[ScriptReply, ...] = (draft(),)) -> list[Rule]:
    return [
        Rule(role="orchestrator", match="TASK: ", replies=replies),
        Rule(role="toolsmith", match="Tool name: double_it", replies=smith),
    ]


def verdict(event: e.SessionEvent, *verdicts: e.Decision, **more: Any) -> Command | None:
    if isinstance(event, e.ApprovalRequested):
        which = verdicts[min(int(event.version) - 1, len(verdicts) - 1)]
        return ResolveApproval(
            approval_id=event.approval_id, digest=event.digest, verdict=e.Verdict(decision=which, **more)
        )
    return None


def approve(event: e.SessionEvent) -> Command | None:
    return verdict(event, "approved") or stop(event)


def stop(event: e.SessionEvent) -> Command | None:
    """End a task that goes in circles."""
    stuck = isinstance(event, e.QuestionAsked) and event.question_id.startswith("stuck-")
    return AnswerQuestion(question_id=event.question_id, text="1") if stuck else None  # type: ignore[union-attr]
