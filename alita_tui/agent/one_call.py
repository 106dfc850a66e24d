"""A question to a model beside the agents' own work, answered by calling one tool."""

from __future__ import annotations

import asyncio

from alita_tui.events import Json, ModelRole
from alita_tui.spine.errors import BudgetExceeded, ModelError
from alita_tui.spine.ports.models import Asker, Message, ModelRequest, ToolSpec


async def calls_of(
    asker: Asker,
    tool: ToolSpec,
    *,
    role: ModelRole,
    system: str,
    told: str,
    reply_tokens: int,
    seconds: float,
    seat: str = "",
    role_usd: float | None = None,
) -> list[Json]:
    """Ask a model to call a tool; return the arguments of its calls, unchecked.

    There are none where the call fails, is not paid for or takes longer, which is on the stream then.
    """
    request = ModelRequest(
        role=role,
        seat=seat,
        system=system,
        messages=(Message(role="user", text=told),),
        tools=(tool,),
        must_call=tool.name,
        max_tokens=reply_tokens,
        spare=True,
        role_usd=role_usd,
    )
    try:
        async with asyncio.timeout(seconds):
            reply = await asker.ask(request)
    except (ModelError, BudgetExceeded, TimeoutError):
        return []
    return [call.arguments for call in reply.requests if call.name == tool.name]
