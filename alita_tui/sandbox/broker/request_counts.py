"""The requests of a run that are not recorded one by one: counted by outcome and by target."""

from __future__ import annotations

from typing import get_args
from urllib.parse import urlsplit

from alita_tui.events import BrokerAnswered, BrokerOutcome, CallId, RequestCount
from alita_tui.spine.text import counted, one_line

_MOST_TARGETS = 100
"""Targets that are named. Requests to further ones are counted together: a page can make up any number of names."""
_OTHERS = "other hosts"


class RequestCounts:
    """Counts requests, and the bytes that they sent and received."""

    def __init__(self) -> None:
        self._totals: dict[BrokerOutcome, BrokerAnswered] = {}
        self._counts: dict[BrokerOutcome, dict[str, int]] = {}

    def add(self, answered: BrokerAnswered) -> None:
        """Count a request that has ended."""
        outcome = answered.outcome
        total = self._totals.get(outcome)
        self._totals[outcome] = BrokerAnswered(
            call_id=CallId(answered.call_id),
            request="",
            outcome=outcome,
            secrets=tuple(sorted({*(total.secrets if total else ()), *answered.secrets})),
            sent_bytes=(total.sent_bytes if total else 0) + answered.sent_bytes,
            received_bytes=(total.received_bytes if total else 0) + answered.received_bytes,
            duration_ms=(total.duration_ms if total else 0.0) + answered.duration_ms,
        )
        counts = self._counts.setdefault(outcome, {})
        target = target_of(answered.request)
        if target not in counts and len(counts) >= _MOST_TARGETS:
            target = _OTHERS
        counts[target] = counts.get(target, 0) + 1

    def events(self) -> list[BrokerAnswered]:
        """Return an event for each outcome: how many requests had it, and how many of them each target got."""
        return [self._event(outcome) for outcome in get_args(BrokerOutcome) if outcome in self._totals]

    def _event(self, outcome: BrokerOutcome) -> BrokerAnswered:
        total, counts = self._totals[outcome], self._counts[outcome]
        targets = sorted(counts, key=lambda target: (target == _OTHERS, -counts[target], target))
        return BrokerAnswered(
            call_id=total.call_id,
            request=counted(sum(counts.values()), "more request"),
            outcome=outcome,
            reason="" if outcome == "served" else "only the first ones are recorded one by one",
            secrets=total.secrets,
            sent_bytes=total.sent_bytes,
            received_bytes=total.received_bytes,
            duration_ms=total.duration_ms,
            more=tuple(RequestCount(target=target, count=counts[target]) for target in targets),
        )


def target_of(request: str) -> str:
    """Return the host and port of a recorded request, or method and endpoint of one to the broker itself."""
    method, _, target = request.partition(" ")
    if target.startswith("/"):
        endpoint = target.partition("?")[0].split("/")[1]
        return str(one_line(f"{method} /{endpoint}", 120))
    if "://" in target:
        try:
            target = urlsplit(target).netloc
        except ValueError:  # such as an address in brackets that is none
            target = target.partition("://")[2].partition("/")[0]
    return str(one_line(target, 120)) or "an invalid request"
