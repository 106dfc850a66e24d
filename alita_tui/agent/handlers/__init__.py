"""What the agent does for each action: one handler per action, looked up by the action's type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from alita_tui.agent.actions import Action
from alita_tui.agent.tasks import TaskEnd

Handler = Callable[[str, Any], Awaitable[TaskEnd | None]]
"""Takes the action's id and the action, and records the outcome. Returns the task's end if the action ends it."""


class Handlers:
    """The handlers of an agent."""

    def __init__(self, *tables: Mapping[type[Action], Handler]) -> None:
        self._handlers: dict[type[Action], Handler] = {}
        for table in tables:
            self._handlers.update(table)

    async def handle(self, action_id: str, action: Action) -> TaskEnd | None:
        """Carry out an action. Raises what its handler raises; WebError and RegistryError are for the model."""
        return await self._handlers[type(action)](action_id, action)
