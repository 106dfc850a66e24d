"""Budget of model calls: reserved before a call, settled after it; the person is asked when a cap is reached."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from alita_tui import events as e
from alita_tui.agent.budget import LEDGER_EVENTS, Amount, Breach, Budget, Ledger, at_least
from alita_tui.agent.questions import Questions
from alita_tui.events import Usage
from alita_tui.spine import origin
from alita_tui.spine.budget_shares import CENTS
from alita_tui.spine.bus import Bus
from alita_tui.spine.cancellation import finish
from alita_tui.spine.errors import BudgetExceeded, BuildSpent
from alita_tui.spine.origin import in_task
from alita_tui.spine.ports.models import DayBook, DaySpend, Priced

T = TypeVar("T")
_Cap = tuple[e.BudgetScope, e.BudgetUnit, str]
"""A cap and its task; empty for a cap that tasks share."""
_NUMBER = re.compile(r"\$?\s*(\d[\d,_ ]*(?:\.\d+)?)\s*(?:usd|\$|dollars?|tokens?)?\.?", re.IGNORECASE)
_SETTING = {
    ("task", "usd"): "task_usd", ("session", "usd"): "session_usd", ("day", "usd"): "day_usd",
    ("task", "tokens"): "task_tokens", ("session", "tokens"): "session_tokens", ("day", "tokens"): "day_tokens",
}  # fmt: skip


class CallBudget:
    """Reserves and settles the calls of one session; parallel calls count together."""

    def __init__(
        self,
        bus: Bus,
        budget: Budget,
        questions: Questions,
        new_id: Callable[[], str],
        *,
        book: DayBook | None = None,
        unknown_usd: float = 0.0,
    ) -> None:
        """Without a `book` nothing counts toward a day. `unknown_usd` is the price assumed for a million tokens of a
        model without a known price, while a cap in money applies.
        """
        self._bus = bus
        self._ledger = Ledger(budget)
        self._questions = questions
        self._new_id = new_id
        self._book = book
        self._read_upto = 0
        self._own_calls: set[str] = set()
        self._unpriced: set[str] = set()
        self._unknown_usd = unknown_usd
        self._reserving = asyncio.Lock()
        self._settling = asyncio.Lock()
        """Lock held while a total is computed and recorded, so that no two calls report the same one."""
        self._asking = asyncio.Lock()
        """Lock held while the person is asked for more; calls within the caps continue meanwhile."""
        self._refusals: dict[_Cap, int] = {}

    async def reserve(
        self,
        call_id: str,
        role: e.Payer,
        model: Priced,
        worst: Usage,
        build: str = "",
        *,
        spare: bool = False,
        role_usd: float | None = None,
    ) -> None:
        """Set aside what a call may cost at most. Raises BudgetExceeded when the caps do not allow it.

        The person is not asked to raise a build's own cap (BuildSpent ends the build), to allow a `spare` call, or to
        raise `role_usd`, the limit for all calls of the role in the session.
        """
        refusals = dict(self._refusals)
        usd, tokens = _highest_price(model, worst), worst.input_tokens + worst.output_tokens
        assumed = self._assumed(usd, tokens)
        amount = Amount(assumed if usd is None else usd, tokens)
        reserved = e.BudgetReserved(
            call_id=call_id, role=role, model=model.name, usd=usd, tokens=tokens, build_id=build,
            assumed_usd=assumed,
        )  # fmt: skip
        while breach := await self._reserve(reserved, amount, model, role_usd):
            if spare or origin.delegate():  # the delegating agent decides how to continue
                raise BudgetExceeded(str(breach))
            await self._ask_for_more(breach, refusals)

    async def _reserve(
        self, reserved: e.BudgetReserved, amount: Amount, model: Priced, role_usd: float | None
    ) -> Breach | None:
        """Reserve the amount, unless a cap does not allow it."""
        call_id, build = reserved.call_id, reserved.build_id
        async with self._reserving:
            await self._recover()
            if role_usd is not None and self._role_usd(reserved) > role_usd:
                raise BudgetExceeded(
                    f"With this call the role {reserved.role} could cost over ${role_usd:.4f}."
                )
            await self._notify_unpriced(model, reserved.usd)
            if spent := self._ledger.build_breach(build, amount.usd):
                raise BuildSpent(spent, hint="Raise it with `alita config set budget.build_usd N`.")
            payer = self._ledger.shares.payer(origin.delegate())
            if payer and (refused := self._ledger.shares.refusal(payer, amount)):
                raise BudgetExceeded(refused)
            if breach := await self._set_aside(call_id, amount):
                return breach
            self._own_calls.add(call_id)
            try:
                await self._bus.emit(reserved, span=call_id)
            except asyncio.CancelledError:
                await self.settle(call_id, reserved.role, model, Usage(), build=build)
                raise
        return None

    async def hand_out(self, order: e.AgentStarted, share: float) -> e.AgentStarted:
        """Reserve an agent's share of what its delegating agent has left, and record that it begins.

        `order.usd` limits it further. Raises BudgetExceeded if nothing is left, or
        less than `order.usd` asks for in its first attempt.
        """
        async with self._reserving:
            await self._recover()
            remaining = self._ledger.left(origin.current().task_id, origin.delegate())
            wanted_usd = order.usd
            if (
                remaining.usd is not None
                and wanted_usd is not None
                and order.attempt == 1
                and wanted_usd > remaining.usd + CENTS
            ):
                raise BudgetExceeded(
                    f"${wanted_usd:.2f} is more than the ${remaining.usd:.4f} that are left."
                )
            if remaining.usd == 0 or remaining.tokens == 0:
                raise BudgetExceeded("Nothing of the budget is left to be handed out.")
            usd = (
                wanted_usd
                if remaining.usd is None
                else min(remaining.usd, remaining.usd * share if wanted_usd is None else wanted_usd)
            )
            tokens = order.tokens
            if remaining.tokens is not None:
                tokens = min(
                    remaining.tokens, max(int(remaining.tokens * share), 1) if tokens is None else tokens
                )
            order = msgspec.structs.replace(order, usd=usd, tokens=tokens)
            await self._bus.emit(order, span=order.agent_id)
            self._catch_up()
            return order

    def taken(self, agent_id: e.AgentId) -> Amount:
        """Return the spend of an agent, including the agents that it delegated to."""
        self._catch_up()
        return self._ledger.shares.spent_by(agent_id)

    async def settle(
        self,
        call_id: str,
        role: e.Payer,
        model: Priced,
        usage: Usage,
        *,
        estimated: bool = False,
        build: str = "",
    ) -> None:
        """Replace a call's reservation with its actual cost."""
        full = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
        cost, uncached = model.price(usage), model.price(full)
        saved = max((uncached or 0.0) - (cost or 0.0), 0.0) if usage.cached_tokens else 0.0
        tokens = usage.input_tokens + usage.output_tokens
        cost = cost if tokens else 0.0
        assumed = self._assumed(cost, tokens)
        await self._settle(
            e.BudgetSpent(
                call_id=call_id, cost_usd=cost, role=role, model=model.name, tokens=tokens,
                estimated=estimated, saved_usd=saved, build_id=build,
                assumed_usd=assumed,
            )
        )  # fmt: skip

    async def spared(self, call_id: str, role: e.Payer, model: Priced, usage: Usage) -> None:
        """Record what a reply from the cache would have cost; nothing is spent."""
        saved = model.price(usage) or 0.0
        await self._settle(
            e.BudgetSpent(
                call_id=call_id, cost_usd=0.0, role=role, model=model.name, saved_usd=saved, spared=True
            )
        )

    async def _settle(self, spent: e.BudgetSpent) -> None:
        """Settle a call even if it is cancelled meanwhile, so that the book and the stream agree."""
        await finish(self._record_spending(spent))

    async def _record_spending(self, spent: e.BudgetSpent) -> None:
        call = Amount(spent.assumed_usd if spent.cost_usd is None else spent.cost_usd, spent.tokens)
        day = (
            await self._write(lambda book: book.settle(spent.call_id, *call, estimated=spent.estimated))
            or DaySpend()
        )
        async with self._settling:
            ledger = self._ledger
            self._catch_up()
            task_id = ledger.task_of(spent.call_id) or origin.current().task_id
            await self._bus.emit(
                msgspec.structs.replace(
                    spent,
                    total_usd=ledger.session.usd + call.usd,
                    total_tokens=ledger.session.tokens + call.tokens,
                    limit_usd=ledger.limit("session", "usd"),
                    unpriced_calls=ledger.unpriced + (spent.cost_usd is None),
                    task_usd=ledger.task(task_id).usd + call.usd,
                    task_limit_usd=ledger.limit("task", "usd", task_id),
                    day_usd=day.usd,
                    build_usd=ledger.builds.get(spent.build_id, 0.0) + call.usd if spent.build_id else 0.0,
                    build_limit_usd=ledger.build_limit if spent.build_id else None,
                ),
                span=spent.call_id,
            )
            self._catch_up()
            self._own_calls.discard(spent.call_id)
            for notice in ledger.notices(call, Amount(day.usd, day.tokens), task_id):
                await self._bus.emit(notice)

    async def _set_aside(self, call_id: str, amount: Amount) -> Breach | None:
        self._catch_up()
        ledger = self._ledger
        limit_usd, limit_tokens = ledger.limit("day", "usd"), ledger.limit("day", "tokens")
        counted = self._book is not None and (limit_usd is not None or limit_tokens is not None)
        today = await self._write(lambda book: book.today()) if counted else None
        day = Amount(today.usd, today.tokens) if today else Amount()
        current, payer = origin.current(), ledger.shares.payer(origin.delegate())
        breach = ledger.breach(amount.usd, amount.tokens, day, current.task_id, payer)
        if breach or not counted:
            return breach
        reserved = await self._write(
            lambda book: book.reserve(
                call_id, amount.usd, amount.tokens,
                limit_usd=limit_usd if amount.usd else None,
                limit_tokens=None if limit_tokens is None else int(limit_tokens),
            )
        )  # fmt: skip
        # Another process was faster: check again.
        return None if reserved else await self._set_aside(call_id, amount)

    async def _ask_for_more(self, breach: Breach, refusals: dict[_Cap, int]) -> None:
        """Pause until the person allows more. Raises BudgetExceeded if they refuse, or if none is attached.

        `refusals` counts those from before the call began: a newer one answers this call, too.
        """
        setting = f"budget.{_SETTING[breach.scope, breach.unit]}"
        refused = BudgetExceeded(
            str(breach), hint=f"Raise it with `alita config set {setting} N` and resume the session."
        )
        if self._questions.parks:
            raise refused
        task_id = origin.current().task_id
        cap = breach.scope, breach.unit, task_id if breach.scope == "task" else ""
        async with self._asking:
            self._catch_up()
            limit = self._ledger.limit(breach.scope, breach.unit, task_id)
            if limit is None or limit > breach.limit:
                return  # another call asked, and more was allowed: check again
            try:
                if self._refusals.get(cap, 0) > refusals.get(cap, 0):
                    raise refused  # another call asked, and no more was allowed
                await self._ask(breach, setting)
            except BudgetExceeded:
                self._refusals[cap] = self._refusals.get(cap, 0) + 1
                raise

    async def _ask(self, breach: Breach, setting: str) -> None:
        exceeded = BudgetExceeded(
            str(breach), hint=f"Raise it with `alita config set {setting} N` and give the task again."
        )
        while True:
            text = f"{breach} What may the {breach.scope} cost in all? Write a number, or `stop`."
            answer = (await self._questions.ask(f"budget-{self._new_id()}", text, about="budget")).strip()
            number = _NUMBER.fullmatch(answer)
            if number is None:
                raise exceeded
            limit = float(re.sub("[,_ ]", "", number[1]))
            if limit >= breach.spent + breach.needed:
                await self._bus.emit(e.BudgetRaised(scope=breach.scope, unit=breach.unit, limit=limit))
                return
            least = at_least(breach.spent + breach.needed, breach.unit)
            await self._bus.emit(
                e.NoticeRaised(level="info", text=f"The next call needs at least {least} in all.")
            )

    async def _recover(self) -> None:
        """Settle the calls that an earlier process left open, each at the full amount reserved for it."""
        self._catch_up()
        for call_id, reserved in list(self._ledger.open.items()):
            if call_id in self._own_calls:
                continue
            with origin.working_on(in_task(self._ledger.task_of(call_id) or e.NO_TASK)):
                await self._settle(
                    e.BudgetSpent(
                        call_id=call_id, cost_usd=reserved.usd, role=reserved.role, model=reserved.model,
                        tokens=reserved.tokens, estimated=True, build_id=reserved.build_id,
                        assumed_usd=reserved.assumed_usd,
                    )
                )  # fmt: skip

    def _role_usd(self, reserved: e.BudgetReserved) -> float:
        """Return what a role costs at most in the session, this call included, even if no cap is in money."""
        priced_usd, unpriced_tokens = self._ledger.roles.get(reserved.role, (0.0, 0))
        unpriced_tokens += reserved.tokens if reserved.usd is None else 0
        return priced_usd + (reserved.usd or 0.0) + unpriced_tokens * self._unknown_usd / 1_000_000

    def _assumed(self, usd: float | None, tokens: int) -> float:
        """Return the assumed cost of tokens if no price is known and a cap is in money."""
        return tokens * self._unknown_usd / 1_000_000 if usd is None and self._ledger.in_money else 0.0

    async def _notify_unpriced(self, model: Priced, usd: float | None) -> None:
        if usd is not None or not self._ledger.in_money or model.name in self._unpriced:
            return
        self._unpriced.add(model.name)
        consequence = (
            f"its calls are taken to cost ${self._unknown_usd:g} for a million tokens (budget.unknown_usd)."
        )
        if not self._unknown_usd:
            consequence = "its calls count in tokens, not in money."
        await self._bus.emit(
            e.NoticeRaised(
                level="info",
                text=f"No price is known for {model.name}: {consequence}",
                hint='Give one with `alita models add "PROVIDER:NAME; input_usd=N; output_usd=N"`.',
            )
        )

    def _catch_up(self) -> None:
        history = self._bus.history
        start, self._read_upto = self._read_upto, len(history)
        for envelope in history.of(*LEDGER_EVENTS, since=start):
            self._ledger.read(envelope)

    async def _write(self, action: Callable[[DayBook], T]) -> T | None:
        """Change the book in a thread; a change that has begun is finished even if the call is cancelled."""
        if self._book is None:
            return None
        return await finish(self._bus.save_with(action, self._book))


def _highest_price(model: Priced, worst: Usage) -> float | None:
    """Return the highest price of a call: some providers charge more for writing its input to their cache."""
    with_cache_writes = msgspec.structs.replace(worst, cache_write_tokens=worst.input_tokens)
    prices = [price for usage in (worst, with_cache_writes) if (price := model.price(usage)) is not None]
    return max(prices, default=None)
