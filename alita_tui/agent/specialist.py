"""The loop of an agent that was handed a part of a task: the lead's, with its role's prompt, actions and end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from alita_tui.agent.actions import Action, Report
from alita_tui.agent.loop import AgentLoop
from alita_tui.agent.progress import ProgressWatch
from alita_tui.agent.prompt import specialist_prompt
from alita_tui.agent.role import Role, Roles, seat_of
from alita_tui.agent.tasks import TaskEnd
from alita_tui.events import ActionName, ModelRole
from alita_tui.spine import origin
from alita_tui.spine.agent_laws import DEEPEST


class SpecialistLoop(AgentLoop):
    """One agent's loop over the part that it was handed."""

    role: ModelRole = "specialist"
    ends_with = "report"

    def __init__(self, kind: Role, roles: Roles, depth: int, *parts: Any, reply_tokens: int) -> None:
        """`parts` are those of `AgentLoop`."""
        super().__init__(*parts, max_steps=kind.steps, reply_tokens=reply_tokens)
        self._kind = kind
        self._roles = roles
        self._depth = depth
        self.seat = seat_of(kind.name) if kind.models else ""

    @property
    def _allowed(self) -> Iterable[ActionName]:
        deeper = self._depth < DEEPEST
        return (*(name for name in self._kind.actions if deeper or name != "delegate"), "report")

    def _begin(self) -> None:
        """Leave the blocks of the context alone: they are the lead's."""

    def _next_step(self) -> None:
        origin.begin_step()

    async def _prompt(self) -> str:
        roles = self._roles if "delegate" in self._allowed else None
        return specialist_prompt(self._kind, roles, browser=self._browser)

    async def _plan_anew(self, start: int) -> None:
        """Leave the plan alone: it is the lead's."""

    async def _stuck(self, call_id: str, tried: str, watch: ProgressWatch) -> TaskEnd:
        return TaskEnd("stuck", tried)

    def _ending(self, text: str) -> Action:
        return Report(result=text)
