"""One model call outside the agents' loops, answered by calling one tool."""

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
    prompt: str,
    reply_tokens: int,
    seconds: float,
    seat: str = "",
    role_usd: float | None = None,
) -> list[Json]:
    """Ask a model to call a tool; return the arguments of its calls, unchecked.

    Return an empty list if the call fails, exceeds the budget or takes too long; the reason is on the stream.
    """
    request = ModelRequest(
        role=role,
        seat=seat,
        system=system,
        messages=(Message(role="user", text=prompt),),
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
