"""What the fold knows of money and tokens: sums, where they went, how they grew, what was saved."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from alita_tui.spine import events as e
from alita_tui.spine.text import one_line
from alita_tui.view.model import Share, Spend

if TYPE_CHECKING:
    from alita_tui.view.model import SessionView

_POINTS = 400
"""Points of the curve; from there on every other one is dropped."""


def replied(spend: Spend, event: e.ModelReplied) -> Spend:
    """After a reply."""
    usage = event.usage
    return replace(
        spend,
        calls=spend.calls + (not event.cached),
        input_tokens=spend.input_tokens + usage.input_tokens,
        output_tokens=spend.output_tokens + usage.output_tokens,
        cached_tokens=spend.cached_tokens + usage.cached_tokens,
        spared_calls=spend.spared_calls + event.cached,
    )


def spent(view: SessionView, at: datetime, event: e.BudgetSpent) -> Spend:
    """After a call was paid. What the toolsmith takes goes to the tool that it is at."""
    spend = view.spend
    cost, tokens = event.cost_usd or 0.0, event.tokens
    by_tool = spend.by_tool
    if event.role == "toolsmith" and view.builds:
        by_tool = _add(by_tool, view.builds[-1].name, cost, tokens)
    points = (*spend.points, (at, event.total_usd))
    return replace(
        spend,
        total_usd=event.total_usd,
        limit_usd=event.limit_usd,
        unpriced_calls=event.unpriced_calls,
        task_usd=event.task_usd,
        task_limit_usd=event.task_limit_usd,
        day_usd=event.day_usd,
        saved_usd=spend.saved_usd + event.saved_usd,
        by_role=_add(spend.by_role, event.role, cost, tokens),
        by_model=_add(spend.by_model, event.model, cost, tokens),
        by_tool=by_tool,
        points=points if len(points) <= _POINTS else (*points[:-1:2], points[-1]),
    )


def ran(view: SessionView, name: str) -> Spend:
    """After a tool ran: from its second run on, building it again was saved."""
    spend = view.spend
    card = next((card for card in view.library if card.name == name), None)
    built = next((share.usd for share in spend.by_tool if share.name == name), 0.0)
    again = card is not None and card.runs > 0
    return replace(
        spend, reused_runs=spend.reused_runs + again, reused_usd=spend.reused_usd + (built if again else 0.0)
    )


def _add(shares: tuple[Share, ...], name: str, usd: float, tokens: int) -> tuple[Share, ...]:
    if not name:  # events of an earlier version do not say
        return shares
    known = one_line(name)
    if all(share.name != known for share in shares):
        shares = (*shares, Share(known))
    return tuple(
        replace(share, calls=share.calls + 1, usd=share.usd + usd, tokens=share.tokens + tokens)
        if share.name == known
        else share
        for share in shares
    )
