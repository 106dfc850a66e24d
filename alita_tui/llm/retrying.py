"""Whether a failed model call is worth another attempt, and when."""

from __future__ import annotations

from alita_tui.spine.errors import ModelError, ModelErrorKind

_TRANSIENT: frozenset[ModelErrorKind] = frozenset(
    {"rate_limit", "overloaded", "server", "timeout", "connection", "truncated"}
)
_ATTEMPTS = 2
_LONGEST = 60.0
"""Seconds that a server's Retry-After is followed at most; a longer wait is the person's choice."""


def wait_before_retry(error: ModelError, attempt: int, jitter: float) -> float | None:
    """Seconds to wait before the next attempt, or None when there should be none.

    `attempt` counts the failures so far, `jitter` is in [0, 1). The wait doubles from one second, and
    up to half of it is left to the jitter; a server's Retry-After goes before it.
    """
    if error.kind not in _TRANSIENT or attempt > _ATTEMPTS:
        return None
    if error.retry_after is not None:
        return None if error.retry_after > _LONGEST else max(error.retry_after, 0.0) + 0.25 * jitter
    return float(2 ** (attempt - 1)) * (0.5 + 0.5 * jitter)
