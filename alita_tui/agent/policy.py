"""Limits on what a session's tasks may cost and teach."""

from __future__ import annotations

from typing import Literal

from alita_tui.events import Value
from alita_tui.spine.ports.sandbox import Limits


class Policy(Value, frozen=True):
    """Limits of a task."""

    parallel: int = 1
    """How many tasks run at once."""
    max_steps: int = 30
    reply_tokens: int = 8192
    run_limits: Limits = Limits()
    teaches: bool = True
    """False if something is only tried out, as in a fork: memory learns nothing from it."""
    director: Literal["auto", "always", "never"] = "auto"
    """Whether parts of a task are handed to other agents."""
    agents: int = 3
    """How many agents work for one at once."""
    verify: Literal["never", "costly", "always"] = "never"
    """Whether an answer is checked before it is given."""
    verify_usd: float = 0.0
    """Known cost from which a task counts as costly."""
    plans: int = 3
    """How many ways to do a task are compared at most."""
    recall_tokens: int = 600
    """Most memory that is recalled for a task."""
    propose_usd: float | None = None
    """What proposing facts may cost in the session; None: no model proposes any."""
