"""What a person can ask of the engine. Imperative; the only way from the console to it."""

from __future__ import annotations

from typing import Literal

from alita_tui.spine.values import Value


class SubmitTask(Value, frozen=True):
    """Begin a task, or queue it behind the running one."""

    text: str


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
    verdict: Literal["approved", "rejected", "edited"]
    reason: str = ""
    code: str = ""
    """For `edited`: the whole new code."""
    tests: str = ""
    """For `edited`: the whole new tests; empty keeps them."""
    via: Literal["console", "cli"] = "console"
    seen_ms: float = 0.0
    scrolled_to_end: bool = False


class Interrupt(Value, frozen=True):
    """Stop the running task and keep what there is."""


class EnableModel(Value, frozen=True):
    """Ask a model again that was turned off: the key or the account is mended."""

    model: str
    """`provider:name`."""


class CloseSession(Value, frozen=True):
    """Let the session go in good order."""


Command = SubmitTask | Steer | AnswerQuestion | ResolveApproval | Interrupt | EnableModel | CloseSession
