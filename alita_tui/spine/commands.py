"""What a person can ask of the engine. Imperative; the only way from the console to it."""

from __future__ import annotations

from alita_tui.events import NO_AGENT, NO_TASK, AgentId, BuildDigest, Rating, TaskId, Value, Verdict
from alita_tui.spine.ports.builds import BuildOrder


class SubmitTask(Value, frozen=True):
    """Begin a task, or queue it behind the running one."""

    text: str
    again: TaskId = NO_TASK
    """The parked or failed task that this one continues; empty for a new one."""
    retried: bool = False
    """The person asked to try it again."""
    files: tuple[str, ...] = ()
    """Handles of the artefacts that were given with it."""
    attach: tuple[str, ...] = ()
    """Paths of files of this machine that are given with it, and become artefacts first."""
    queue_id: str = ""
    """Its id in the queue; submitting the same id again records nothing. Empty: a new one if it has to wait."""


class Retry(Value, frozen=True):
    """Retry a task that failed or stopped at a limit."""

    task_id: TaskId = NO_TASK
    """Empty: the last one, if nothing else is done."""


class EditTask(Value, frozen=True):
    """Change what a queued task asks for."""

    queue_id: str
    text: str


class MoveTask(Value, frozen=True):
    """Give a queued task another place."""

    queue_id: str
    before: str = ""
    """The queued task to place it before; empty to make it the last one."""


class CancelTask(Value, frozen=True):
    """Take a task out of the queue, or stop it if it runs."""

    task_id: str
    """Of the queued task (its queue id) or of the running one."""


class SwitchQueue(Value, frozen=True):
    """Pause the queue, so that no further task begins, or resume it."""

    paused: bool


class Steer(Value, frozen=True):
    """Add to a running task; read before its next step."""

    text: str
    task_id: TaskId = NO_TASK
    """Empty: the newest one that runs."""
    agent_id: AgentId = NO_AGENT
    """The agent that it is for; empty: the lead."""
    every: bool = False
    """For the lead and for all agents that work for it."""
    attach: tuple[str, ...] = ()
    """Paths of files of this machine that are given with it."""


class AnswerQuestion(Value, frozen=True):
    """Answer what the agent asked."""

    question_id: str
    text: str


class ResolveApproval(Value, frozen=True):
    """Decide on a build, by the digest that was on screen."""

    approval_id: str
    digest: BuildDigest
    verdict: Verdict
    code: str = ""
    """For `edited`: the whole new code."""
    tests: str = ""
    """For `edited`: the whole new tests; empty keeps them."""


class PutOff(Value, frozen=True):
    """Decide on a build later: it keeps waiting, and the agent continues with what does not need it."""

    approval_id: str


class Interrupt(Value, frozen=True):
    """Stop a running task and keep its results so far."""

    task_id: TaskId = NO_TASK
    """Empty: the newest one that runs and was not stopped yet."""
    every: bool = False
    """Stop all that run."""
    agent_id: AgentId = NO_AGENT
    """Stop only this agent, which works on a part of a task; the task continues without it."""


class Continue(Value, frozen=True):
    """Continue the unfinished work of a reopened session, which waits for this."""


class EnableModel(Value, frozen=True):
    """Use a model again that was turned off, now that its key or account is fixed."""

    model: str
    """`provider:name`."""


class SwitchBlock(Value, frozen=True):
    """Switch a block of the context on or off for this session."""

    block: str
    on: bool


class ForgetMemory(Value, frozen=True):
    """Put on record that the person had something forgotten, or took that back: it leaves the conversation."""

    item_id: str
    back: bool = False


class GiveFeedback(Value, frozen=True):
    """Say how good an answer or a run was."""

    rating: Rating
    seq: int = 0
    """The event of the answer or of the run; 0: the newest answer."""
    text: str = ""
    expected: str = ""
    """What it should be instead."""
    undo: bool = False
    """Take back the newest rating of it; the rating is then of no account. With `seq` 0, the newest of the session."""


class Improve(Value, frozen=True):
    """Build what is proposed for a tool, as a task of its own; it waits for a verdict as any build does."""

    proposal: str
    """Its id."""
    text: str
    """What is proposed and why, in one line."""
    order: BuildOrder


class RefreshLibrary(Value, frozen=True):
    """Record which tools run now, after a person changed the library."""


class CloseSession(Value, frozen=True):
    """Close the session properly."""


Command = (
    SubmitTask
    | Retry
    | EditTask
    | MoveTask
    | CancelTask
    | SwitchQueue
    | Steer
    | AnswerQuestion
    | ResolveApproval
    | PutOff
    | Interrupt
    | Continue
    | EnableModel
    | SwitchBlock
    | ForgetMemory
    | GiveFeedback
    | Improve
    | RefreshLibrary
    | CloseSession
)
