"""Noticing that a task goes in circles."""

from __future__ import annotations

from alita_tui.events import digest_of

_REPEATS = 3
_ALTERNATIONS = 3


class ProgressWatch:
    """Sees each action with its observation; tells when they repeat without anything new."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def note(self, action: str, observation: str) -> str:
        """Record one step. Returns why the agent is stuck, or an empty string."""
        self._seen.append(digest_of(action, observation))
        tail = self._seen[-_REPEATS:]
        if len(tail) == _REPEATS and len(set(tail)) == 1:
            return f"the same action gave the same result {_REPEATS} times"
        pairs = self._seen[-2 * _ALTERNATIONS :]
        if len(pairs) == 2 * _ALTERNATIONS and len(set(pairs[::2])) == len(set(pairs[1::2])) == 1:
            return "two actions take turns without anything new"
        return ""
