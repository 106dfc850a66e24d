"""Calls of models as a session makes them: recorded on its stream, paid from its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id
from alita_tui.app.room_settings import caps
from alita_tui.spine.bus import Bus

if TYPE_CHECKING:
    from alita_tui.agent.calling import ModelCalls
    from alita_tui.agent.questions import Questions
    from alita_tui.llm.roster import Roster


def model_calls(
    app: AppContext, bus: Bus, models: Roster, questions: Questions, cap_usd: float | None = None
) -> ModelCalls:
    """Return model calls that are recorded on this bus and paid from its session's budget.

    `cap_usd`: what they may cost in US dollars; None: as the settings say.
    """
    from alita_tui.agent.call_budget import CallBudget
    from alita_tui.agent.calling import ModelCalls

    book = None if models.recorded else app.spend_book(bus.session_id)
    chosen = app.loaded.settings.budget
    if cap_usd is not None:
        chosen = replace(chosen, session_usd=min(cap_usd, chosen.session_usd or cap_usd))
    call_budget = CallBudget(bus, caps(chosen), questions, new_id, book=book, unknown_usd=chosen.unknown_usd)
    replies = None if models.recorded else app.replies(bus.redacted)
    return ModelCalls(bus, models.router, call_budget, new_id, cache=replies, cached=app.cached_roles)
