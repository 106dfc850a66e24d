"""Spend and caps, derived from the events alone, so that they survive a resume."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from alita_tui import events as e
from alita_tui.events import Value
from alita_tui.spine.budget_shares import Amount as Amount
from alita_tui.spine.budget_shares import Cap as Cap
from alita_tui.spine.budget_shares import Shares
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of_kind

NOTICES = (50, 80, 100)
"""Shares of a cap, in percent, at which the person is notified."""


class Budget(Value, frozen=True):
    """Caps of a task, of a session, and of all sessions of a day."""

    task: Cap = Cap()
    session: Cap = Cap()
    day: Cap = Cap()
    build_usd: float | None = None
    """Cap of one build in US dollars: its drafts, repairs and hidden tests."""

    def of(self, scope: e.BudgetScope) -> Cap:
        """The cap of one scope."""
        return {"task": self.task, "session": self.session, "day": self.day}[scope]


class Breach(NamedTuple):
    """A cap that the next call could break."""

    scope: e.BudgetScope
    unit: e.BudgetUnit
    needed: float
    spent: float
    """Spent so far, with the reservations of running calls."""
    limit: float

    def __str__(self) -> str:
        return (
            f"The next call could take {at_least(self.needed, self.unit)}; {at_least(self.spent, self.unit)} of "
            f"{at_most(self.limit, self.unit)} for the {self.scope} are spent."
        )


def amount(value: float, unit: e.BudgetUnit) -> str:
    """Money or tokens for people."""
    return f"${value:.2f}" if unit == "usd" else f"{value:,.0f} tokens"


def at_least(value: float, unit: e.BudgetUnit) -> str:
    """Money or tokens for people, rounded up: who allows so much has allowed enough."""
    return amount(_rounded(math.ceil, value, unit), unit)


def at_most(value: float, unit: e.BudgetUnit) -> str:
    """Money or tokens for people, rounded down."""
    return amount(_rounded(math.floor, value, unit), unit)


def _rounded(to_whole: Callable[[float], int], value: float, unit: e.BudgetUnit) -> float:
    """Return whole cents or tokens; a value next to one, as sums of floats are, counts as that one."""
    parts = 100 if unit == "usd" else 1
    return to_whole(round(value * parts, 6)) / parts


LEDGER_EVENTS = (
    e.TaskSubmitted,
    e.BudgetReserved,
    e.BudgetSpent,
    e.BudgetRaised,
    e.AgentStarted,
    e.AgentEnded,
)
"""The events that a ledger reads."""


class Ledger:
    """The spend of a session and of each of its tasks. Reads every event of the session, in order."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._raised: dict[tuple[e.BudgetScope, e.BudgetUnit, str], float] = {}
        """Caps that the person raised, by scope, unit and, for the scope `task`, the task."""
        self._task_of: dict[str, e.TaskId] = {}
        """Task by call."""
        self.shares = Shares()
        """The shares of agents that were handed parts of tasks."""
        self._latest = e.NO_TASK
        """The newest task: that of every event of schema 1, which had one task at a time."""
        self.session = Amount()
        self.tasks: dict[e.TaskId, Amount] = {}
        self.builds: dict[str, float] = {}
        """The cost of each build."""
        self.roles: dict[str, tuple[float, int]] = {}
        """What the calls of each role cost, and the tokens of those without a price."""
        self.unpriced = 0
        self.open: dict[str, e.BudgetReserved] = {}
        """Reservations that are not settled."""

    def read(self, envelope: Envelope) -> None:
        """Take in the next event."""
        event = envelope.event
        task_id = envelope.task_id if envelope.schema_version > 1 else self._latest
        match event:
            case e.TaskSubmitted():
                self._latest = event.task_id
            case e.BudgetReserved(call_id=call_id):
                self.open[call_id] = event
                self._task_of[call_id] = task_id
                waiting = Amount(_set_aside(event), event.tokens)
                self.shares.reserved(call_id, task_id, envelope.delegate, waiting)
            case e.AgentStarted():
                limits = Cap(usd=event.usd, tokens=event.tokens)
                self.shares.started(event.agent_id, task_id, envelope.delegate, limits)
            case e.AgentEnded(agent_id=agent_id):
                self.shares.ended(agent_id)
            case e.BudgetSpent(call_id=call_id, cost_usd=cost, tokens=tokens):
                self.open.pop(call_id, None)
                task_id = self._task_of.pop(call_id, task_id)
                # Events of an earlier version name only the total of the tokens.
                usd = event.assumed_usd if cost is None else cost
                spent = Amount(usd, tokens or max(event.total_tokens - self.session.tokens, 0))
                self.session, self.tasks[task_id] = self.session.plus(spent), self.task(task_id).plus(spent)
                self.shares.spent(call_id, spent)
                self.unpriced += cost is None
                priced_usd, unpriced_tokens = self.roles.get(event.role, (0.0, 0))
                self.roles[event.role] = (
                    priced_usd + (cost or 0.0),
                    unpriced_tokens + (spent.tokens if cost is None else 0),
                )
                if event.build_id:
                    self.builds[event.build_id] = self.builds.get(event.build_id, 0.0) + spent.usd
            case e.BudgetRaised(scope=scope, unit=unit, limit=limit):
                self._raised[scope, unit, task_id if scope == "task" else ""] = limit
            case _:
                pass

    def task(self, task_id: e.TaskId) -> Amount:
        """Return the spend of a task so far."""
        return self.tasks.get(task_id, Amount())

    def task_of(self, call_id: str) -> e.TaskId | None:
        """Return the task of a call that is not settled; None for an unknown call."""
        return self._task_of.get(call_id)

    def limit(self, scope: e.BudgetScope, unit: e.BudgetUnit, task_id: e.TaskId = e.NO_TASK) -> float | None:
        """Return the current cap, as raised or from the settings; None for no cap."""
        cap = self._budget.of(scope)
        raised = self._raised.get((scope, unit, task_id if scope == "task" else ""))
        return raised if raised is not None else cap.usd if unit == "usd" else cap.tokens

    @property
    def in_money(self) -> bool:
        """True if some cap is in money."""
        capped = any(self.limit(scope, "usd") is not None for scope in ("task", "session", "day"))
        return capped or self.build_limit is not None

    @property
    def build_limit(self) -> float | None:
        """The cap of one build in money; None if only its task's cap applies."""
        return self._budget.build_usd

    def build_breach(self, build: str, usd: float | None) -> str:
        """Return why a call could break the build's own cap; empty if it cannot."""
        limit = self.build_limit
        if not build or limit is None or usd is None:
            return ""
        waiting = sum(
            map(
                _set_aside,
                (reservation for reservation in self.open.values() if reservation.build_id == build),
            )
        )
        spent = self.builds.get(build, 0.0)
        if spent + waiting + usd <= limit:
            return ""
        figures = f"${spent + waiting:.4f} of ${limit:.4f} are spent, and the next call could take ${usd:.4f}"
        return f"the build's money was spent: {figures}"

    def left(self, task_id: e.TaskId, agent_id: e.AgentId = e.NO_AGENT) -> Cap:
        """Return what an agent of a task (empty: the lead) may still hand out; a None field has no cap."""
        if agent_id:
            return self.shares.remaining(agent_id)
        spent = self.task(task_id).plus(self.shares.committed(task_id))
        usd, tokens = self.limit("task", "usd", task_id), self.limit("task", "tokens", task_id)
        return Cap(
            usd=None if usd is None else max(usd - spent.usd, 0.0),
            tokens=None if tokens is None else max(int(tokens) - spent.tokens, 0),
        )

    def breach(
        self, usd: float | None, tokens: int, day: Amount, task_id: e.TaskId, agent_id: e.AgentId = e.NO_AGENT
    ) -> Breach | None:
        """Return the cap that a call of a task could break, or None.

        `day` is all that was spent and reserved today. What open agents may still take counts as taken.
        """
        for scope, used in self._uses(task_id, day, reserved=True):
            money: tuple[e.BudgetUnit, float, float | None] = ("usd", used.usd, usd)
            counts: tuple[e.BudgetUnit, float, float | None] = ("tokens", used.tokens, tokens)
            for unit, spent, needed in (money, counts):
                limit = self.limit(scope, unit, task_id)
                if scope == "task" and agent_id and getattr(self.shares.share_of(agent_id), unit) is not None:
                    continue  # its share is already reserved
                if limit is not None and needed is not None and spent + needed > limit:
                    return Breach(scope, unit, needed, spent, limit)
        return None

    def notices(self, call: Amount, day: Amount, task_id: e.TaskId) -> Iterator[e.NoticeRaised]:
        """Yield a notice for each cap that this call took past one of the shares in `NOTICES`."""
        for scope, used in self._uses(task_id, day, reserved=False):
            money: tuple[e.BudgetUnit, float, float] = ("usd", used.usd, call.usd)
            counts: tuple[e.BudgetUnit, float, float] = ("tokens", used.tokens, call.tokens)
            for unit, now, added in (money, counts):
                limit = self.limit(scope, unit, task_id)
                reached = [share for share in NOTICES if limit and now - added < limit * share / 100 <= now]
                if limit and reached:
                    yield e.NoticeRaised(
                        level="info" if reached[-1] == NOTICES[0] else "warning",
                        text=f"{reached[-1]} % of what the {scope} may cost is spent: "
                        f"{amount(now, unit)} of {amount(limit, unit)}.",
                    )

    def _uses(
        self, task_id: e.TaskId, day: Amount, *, reserved: bool
    ) -> tuple[tuple[e.BudgetScope, Amount], ...]:
        task, session = self.task(task_id), self.session
        for reservation in self.open.values() if reserved else ():
            session = session.plus(Amount(_set_aside(reservation), reservation.tokens))
        if reserved:
            task = task.plus(self.shares.committed(task_id))
        return ("task", task), ("session", session), ("day", day)


def _set_aside(reserved: e.BudgetReserved) -> float:
    return reserved.assumed_usd if reserved.usd is None else reserved.usd


def declined(history: Sequence[Envelope]) -> bool:
    """Return True if the person refused more budget and no call was paid since."""
    question_ids = {
        question.question_id for question in of_kind(history, e.QuestionAsked) if question.about == "budget"
    }
    for envelope in reversed(history):
        match envelope.event:
            case e.QuestionAnswered(question_id=question_id) if question_id in question_ids:
                return True
            case e.TaskSubmitted() | e.BudgetRaised() | e.BudgetReserved():
                return False
            case _:
                pass
    return False
