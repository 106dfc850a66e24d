"""The models of a session: each opened once, whichever roles use it, and closed together."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from alita_tui.events import Value
from alita_tui.llm.factory import ModelSpec, OpenedModel, open_model
from alita_tui.llm.prices import window
from alita_tui.llm.router import Router
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.ports.models import Ability, Candidate


class Seat(Value, frozen=True):
    """A model in a role, and the limits within which the role may use it."""

    spec: ModelSpec
    context: int = 0
    """Context window in tokens; 0 for the price table's value."""
    max_usd: float | None = None
    needs: frozenset[Ability] = frozenset()


class Roster:
    """Every model that can be opened. The others are named in `problems`."""

    def __init__(self, roles: Mapping[str, Sequence[Seat]]) -> None:
        """Import the price table, which takes half a second. Raise ConfigError when the orchestrator has no model."""
        self._opened: dict[ModelSpec, OpenedModel] = {}
        self.problems: list[ConfigError] = []
        seated = {
            role: [candidate for seat in seats if (candidate := self._seat(seat))]
            for role, seats in roles.items()
        }
        if not seated["orchestrator"]:
            raise self.problems[0]
        self.router = Router(seated, time.monotonic, random.random)
        first = seated["orchestrator"][0].model
        self.name, self.recorded = first.name, first.recorded

    async def aclose(self) -> None:
        """Close the connections of all."""
        async with AsyncExitStack() as stack:
            for model in self._opened.values():
                stack.push_async_callback(model.aclose)

    def _seat(self, seat: Seat) -> Candidate | None:
        try:
            model = self._opened.get(seat.spec) or open_model(seat.spec)
        except ConfigError as problem:
            if problem.message not in (earlier.message for earlier in self.problems):
                self.problems.append(problem)
            return None
        self._opened[seat.spec] = model
        context = seat.context or (0 if model.recorded else window(seat.spec.provider, seat.spec.model))
        return Candidate(model=model, context=context, max_usd=seat.max_usd, needs=seat.needs)
