"""Tokens in words, with a mark where they are estimated. Pure."""

from __future__ import annotations

from alita_tui.state.spend import Share, Spend
from alita_tui.view.agents import AgentUsage

ESTIMATED = "~ is estimated, on the high side: the provider reported no counts."


def tokens_of(part: Spend | Share | AgentUsage) -> str:
    """Return the tokens that were paid for; with a mark if some of them are estimated."""
    return f"{'~' if part.estimated_tokens else ''}{part.tokens:,}"


def total_of(spend: Spend) -> str:
    """Return the tokens and calls of a session; in both directions if the replies account for all of them."""
    split = ""
    if spend.input_tokens + spend.output_tokens == spend.tokens:
        split = f": {spend.input_tokens:,} in, {spend.output_tokens:,} out"
    return f"{tokens_of(spend)}{split}, {spend.paid_calls} call{'' if spend.paid_calls == 1 else 's'}"
