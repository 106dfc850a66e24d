"""What a session's tasks may cost and teach."""

from __future__ import annotations

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
    """False where something is only tried out, as in a fork: memory learns nothing from it."""
    plans: int = 3
    """How many ways to do a task are compared at most."""
    recall_tokens: int = 600
    """Most that is recalled for a task."""
    propose_usd: float | None = None
    """What proposing facts may cost in the session; None: no model proposes any."""
