"""What a person can ask of the engine. Imperative; the only way from the console to it."""

from __future__ import annotations

from typing import Literal

from alita_tui.events import Capabilities, Lasting, Twin, Value, Verdict


class SubmitTask(Value, frozen=True):
    """Begin a task, or queue it behind the running one."""

    text: str
    again: str = ""
    """The task that this goes on with, parked or tried again; empty for a new one."""
    retried: bool = False
    """The person asked to try it again."""
    queue_id: str = ""
    """Where it stands in the record's queue; empty where it never waited."""


class Retry(Value, frozen=True):
    """Try the last task again, which failed or stopped at a limit."""


class Steer(Value, frozen=True):
    """Add to the running task; read before the next step."""

    text: str


class AnswerQuestion(Value, frozen=True):
    """Answer what the agent asked."""

    question_id: str
    text: str


class ResolveApproval(Value, frozen=True):
    """Decide on a build, by the digest that was on screen."""

    approval_id: str
    digest: str
    verdict: Verdict
    reason: str = ""
    tags: tuple[str, ...] = ()
    """Common reasons of a rejection, such as `unsafe`."""
    lasting: Lasting = "library"
    """For `approved`."""
    grants: Capabilities | None = None
    """For `approved` and `retested`: what is granted of what the draft asks for; None for all of it."""
    accepted: tuple[str, ...] = ()
    """For `approved`: the names of the risks that were accepted, as `view.risk` calls them."""
    banned: tuple[str, ...] = ()
    """For `banned`: `name`, `digest`, and words of `Capabilities.items`."""
    alias_of: Twin | None = None
    """For `aliased`: one of the tools that the build's neighbours name as its twins."""
    code: str = ""
    """For `edited`: the whole new code."""
    tests: str = ""
    """For `edited`: the whole new tests; empty keeps them."""
    via: Literal["console", "cli", "policy"] = "console"
    seen_ms: float = 0.0
    scrolled_to_end: bool = False


class PutOff(Value, frozen=True):
    """Decide on a build later: it waits on, and the agent goes on with what does not need it."""

    approval_id: str


class Interrupt(Value, frozen=True):
    """Stop the running task and keep what there is."""


class EnableModel(Value, frozen=True):
    """Ask a model again that was turned off: the key or the account is mended."""

    model: str
    """`provider:name`."""


class RefreshLibrary(Value, frozen=True):
    """Put the tools that run now on record: a person did something with them."""


class CloseSession(Value, frozen=True):
    """Let the session go in good order."""


Command = (
    SubmitTask
    | Retry
    | Steer
    | AnswerQuestion
    | ResolveApproval
    | PutOff
    | Interrupt
    | EnableModel
    | RefreshLibrary
    | CloseSession
)
