"""The events that a forked session begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError


def forked(
    parent: Iterable[Envelope], at: int | None, session_id: str, new_id: Callable[[], str]
) -> list[Envelope]:
    """Return the first events of a fork: the parent's up to event `at` (by default all), as this session's own.

    A build that waits at `at` waits in the fork as well, under a new approval id, so that a verdict names one of
    the two. A model call in progress at `at` was made and paid by the parent only. Raises UsageError for an unknown
    event.
    """
    durable = [envelope for envelope in parent if envelope.durable]
    last_seq = durable[-1].seq or 0 if durable else 0
    upto = last_seq if at is None else at
    if not durable or not 1 <= upto <= last_seq:
        raise UsageError(f"There is no event {upto} to fork at.", hint=f"Events go from 1 to {last_seq}.")
    durable = [envelope for envelope in durable if (envelope.seq or 0) <= upto]
    names = {approval_id: new_id() for approval_id in _undecided(durable)}
    first = durable[0]
    opened = first.event if isinstance(first.event, e.SessionOpened) else e.SessionOpened()
    opening = replace(opened, parent=first.session_id, parent_seq=upto)
    fork = [replace(first, session_id=session_id, event=opening)]
    fork += [
        replace(envelope, session_id=session_id, event=_renamed(envelope.event, names))
        for envelope in durable[1:]
    ]
    fork += [
        replace(fork[-1], seq=upto + number, event=settled)
        for number, settled in enumerate(_settlements(durable), 1)
    ]
    return fork


def _undecided(envelopes: Iterable[Envelope]) -> list[str]:
    """Return the approvals that were requested and not decided."""
    waiting: dict[str, None] = {}
    for envelope in envelopes:
        if isinstance(envelope.event, e.ApprovalRequested):
            waiting[envelope.event.approval_id] = None
        elif isinstance(envelope.event, e.ApprovalResolved):
            waiting.pop(envelope.event.approval_id, None)
    return list(waiting)


def _renamed(event: e.SessionEvent, names: dict[str, str]) -> e.SessionEvent:
    if isinstance(event, e.ApprovalRequested) and event.approval_id in names:
        return replace(event, approval_id=names[event.approval_id])
    return event


def _settlements(envelopes: Iterable[Envelope]) -> Iterator[e.BudgetSpent]:
    """Yield the end, at no cost, of open reservations: a resumed session would count them as spent."""
    reserved: dict[str, e.BudgetReserved] = {}
    last_spent = e.BudgetSpent(call_id="", cost_usd=0.0)
    for envelope in envelopes:
        if isinstance(envelope.event, e.BudgetReserved):
            reserved[envelope.event.call_id] = envelope.event
        elif isinstance(envelope.event, e.BudgetSpent):
            reserved.pop(envelope.event.call_id, None)
            last_spent = envelope.event
    for call_id, reservation in reserved.items():
        yield replace(
            last_spent,
            call_id=call_id,
            cost_usd=0.0,
            tokens=0,
            saved_usd=0.0,
            role=reservation.role,
            model=reservation.model,
            estimated=False,
        )
