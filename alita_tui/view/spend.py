"""Tokens in words, with a mark where they are estimated. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.spine.text import counted
from alita_tui.state.spend import Share, Spend

if TYPE_CHECKING:
    from alita_tui.spine.ports.models import DaySpend
    from alita_tui.view.agents import AgentUsage
    from alita_tui.view.compare import Side

ESTIMATED = "~ is estimated, on the high side: the provider reported no counts."


def tokens_of(part: Spend | Share | AgentUsage | Side | DaySpend) -> str:
    """Return the tokens that were settled; with a mark if some of them are estimated."""
    tokens = settled_tokens(part) if isinstance(part, Spend) else part.tokens
    return f"{'~' if part.estimated_tokens else ''}{tokens:,}"


def unpriced_words(calls: int) -> str:
    """Return how calls without a known price count: assumed, so the sum may be too high as well as too low."""
    return f"{counted(calls, 'call')} without a known price: in the totals as budget.unknown_usd says"


def settled_tokens(spend: Spend) -> int:
    """Return the tokens of a session as they were settled; of records that do not say, those of the replies."""
    return spend.tokens or spend.input_tokens + spend.output_tokens


def settled_calls(spend: Spend) -> int:
    """Return the calls of a session that were settled; of records that do not say, those that were answered."""
    return spend.paid_calls or spend.calls


def total_of(spend: Spend) -> str:
    """Return the tokens and calls of a session; in both directions if the replies account for all of them."""
    split = ""
    if spend.input_tokens + spend.output_tokens == settled_tokens(spend):
        split = f": {spend.input_tokens:,} in, {spend.output_tokens:,} out"
    return f"{tokens_of(spend)}{split}, {counted(settled_calls(spend), 'call')}"
