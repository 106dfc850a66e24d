"""What one task teaches, by kind."""

from __future__ import annotations

from collections.abc import Sequence

from alita_tui.events import MemoryItem, TaskId
from alita_tui.memory.lessons import lessons
from alita_tui.spine.envelope import Envelope


def episode(envelopes: Sequence[Envelope], task_id: TaskId) -> tuple[MemoryItem, ...]:
    return _of_kind("episode", envelopes, task_id)


def recipe(envelopes: Sequence[Envelope], task_id: TaskId) -> tuple[MemoryItem, ...]:
    return _of_kind("recipe", envelopes, task_id)


def _of_kind(kind: str, envelopes: Sequence[Envelope], task_id: TaskId) -> tuple[MemoryItem, ...]:
    return tuple(item for item in lessons(envelopes, task_id) if item.item_id.startswith(f"{kind}:"))
