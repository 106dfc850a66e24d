"""Money and tokens of a session: sums, where they went, how they grew, what was saved."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from alita_tui import events as e

if TYPE_CHECKING:
    from alita_tui.state.session import SessionState

_CALLS = 12
"""Number of newest calls that are listed one by one."""
_POINTS = 400
"""Most points of the curve; beyond that every other point is dropped."""


class Share(msgspec.Struct, frozen=True, gc=False):
    """Cost and tokens of one role, model, tool or step."""

    name: str
    calls: int = 0
    usd: float = 0.0
    tokens: int = 0
    estimated_tokens: int = 0
    """Those of them that are estimated."""


class PaidCall(msgspec.Struct, frozen=True, gc=False):
    """One model call with its cost and tokens."""

    at: datetime
    step: int
    role: str
    model: str
    usd: float | None
    """None when no price is known."""
    tokens: int
    estimated: bool = False
    """Whether the counts are estimated, because the provider reported none."""


class Spend(msgspec.Struct, frozen=True, gc=False):
    """Money and tokens of the session so far."""

    calls: int = 0
    """Number of replies, without those from alita's own cache."""
    input_tokens: int = 0
    """Input tokens as the replies report them, or estimated."""
    output_tokens: int = 0
    total_usd: float = 0.0
    limit_usd: float | None = None
    unpriced_calls: int = 0
    task_usd: float = 0.0
    task_limit_usd: float | None = None
    day_usd: float = 0.0
    """Spend of the day over all sessions."""
    cached_tokens: int = 0
    """Input tokens that were read from the provider's cache."""
    saved_usd: float = 0.0
    """US dollars saved by the provider's cache and by alita's own."""
    spared_calls: int = 0
    """Number of calls that were answered from alita's own cache."""
    pages: int = 0
    """Number of web pages that were read."""
    unchanged_pages: int = 0
    """Number of these that the server did not send again because they had not changed."""
    reused_runs: int = 0
    """Number of runs of tools that had run before."""
    reused_usd: float = 0.0
    """The cost of building those of this session's tools again."""
    by_role: tuple[Share, ...] = ()
    by_model: tuple[Share, ...] = ()
    by_tool: tuple[Share, ...] = ()
    """Spend on building each tool (`NAME`), and on the model calls that it made (`NAME, running`)."""
    by_step: tuple[Share, ...] = ()
    """Spend on each step of the newest task."""
    last_calls: tuple[PaidCall, ...] = ()
    """The newest calls, oldest first."""
    points: tuple[tuple[datetime, float], ...] = ()
    """Spend of the session over time."""
    paid_calls: int = 0
    """Number of settled calls, failed ones included; the shares add up to it."""
    tokens: int = 0
    """Tokens of the settled calls; the shares add up to it."""
    estimated_tokens: int = 0
    """Tokens of these that are estimated, because the provider reported none."""


def after_reply(spend: Spend, event: e.ModelReplied) -> Spend:
    """Return the spend after a reply."""
    usage = event.usage
    return replace(
        spend,
        calls=spend.calls + (not event.cached),
        input_tokens=spend.input_tokens + usage.input_tokens,
        output_tokens=spend.output_tokens + usage.output_tokens,
        cached_tokens=spend.cached_tokens + usage.cached_tokens,
        spared_calls=spend.spared_calls + event.cached,
    )


def after_submission(spend: Spend) -> Spend:
    """Return the spend after a task was submitted."""
    return replace(spend, by_step=()) if spend.by_step else spend


def of_task(spend: Spend) -> float:
    """Return what the task in focus has cost so far, in dollars."""
    return spend.task_usd if spend.by_step else 0.0  # until its first call the sum is that of the task before


def after_page(spend: Spend, event: e.PageRead) -> Spend:
    """Return the spend after a page was read."""
    return replace(spend, pages=spend.pages + 1, unchanged_pages=spend.unchanged_pages + event.unchanged)


def after_payment(state: SessionState, at: datetime, event: e.BudgetSpent) -> Spend:
    """Return the spend after a call was paid. What a build costs counts for its tool, and so do a tool's own calls."""
    spend = state.spend
    by_tool = spend.by_tool
    if event.build_id:
        names = (build.name for build in reversed(state.builds) if build.build_id == event.build_id)
        by_tool = _add(by_tool, next(names, ""), event)
    elif state.calls:  # the engine waits for a running tool, so no other call is in progress
        by_tool = _add(by_tool, f"{state.calls[-1][1]}, running", event)
    elif event.role in ("toolsmith", "reviewer") and state.builds:
        by_tool = _add(by_tool, state.builds[-1].name, event)
    points = (*spend.points, (at, event.total_usd))
    return replace(
        spend,
        total_usd=event.total_usd,
        limit_usd=event.limit_usd,
        unpriced_calls=event.unpriced_calls,
        task_usd=event.task_usd,
        task_limit_usd=event.task_limit_usd,
        day_usd=event.day_usd,
        paid_calls=spend.paid_calls + (not _spared(event)),
        tokens=spend.tokens + event.tokens,
        estimated_tokens=spend.estimated_tokens + (event.tokens if event.estimated else 0),
        saved_usd=spend.saved_usd + event.saved_usd,
        by_role=_add(spend.by_role, event.role, event),
        by_model=_add(spend.by_model, event.model, event),
        by_tool=by_tool,
        by_step=_add(spend.by_step, f"step {state.step}", event),
        last_calls=(*spend.last_calls[1 - _CALLS :], _call(state, at, event)),
        points=points if len(points) <= _POINTS else (*points[:-1:2], points[-1]),
    )


def _call(state: SessionState, at: datetime, event: e.BudgetSpent) -> PaidCall:
    return PaidCall(
        at=at,
        step=state.step,
        role=event.role,
        model=event.model,
        usd=event.cost_usd,
        tokens=event.tokens,
        estimated=event.estimated,
    )


def after_run(state: SessionState, name: str) -> Spend:
    """Return the spend after a tool ran: from its second run on, the cost of building it again was saved."""
    spend = state.spend
    card = next((card for card in state.library if card.name == name), None)
    built = next((share.usd for share in spend.by_tool if share.name == name), 0.0)
    again = card is not None and card.runs > 0
    return replace(
        spend, reused_runs=spend.reused_runs + again, reused_usd=spend.reused_usd + (built if again else 0.0)
    )


def _spared(event: e.BudgetSpent) -> bool:
    """Return True if no call was made; records of earlier versions show that only by what was saved."""
    return event.spared or (not event.tokens and not event.cost_usd and event.saved_usd > 0)


def _add(shares: tuple[Share, ...], name: str, event: e.BudgetSpent) -> tuple[Share, ...]:
    if not name or _spared(event):  # events of an earlier version have no name
        return shares
    index = next((at for at, share in enumerate(shares) if share.name == name), len(shares))
    share = shares[index] if index < len(shares) else Share(name)
    increased = replace(
        share,
        calls=share.calls + 1,
        usd=share.usd + (event.cost_usd or 0.0),
        tokens=share.tokens + event.tokens,
        estimated_tokens=share.estimated_tokens + (event.tokens if event.estimated else 0),
    )
    return (*shares[:index], increased, *shares[index + 1 :])
