"""A session with its engine: where the rooms are joined for the loop."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, cast

from alita_tui import __version__
from alita_tui.spine import events as e
from alita_tui.spine.bus import Bus, Subscription
from alita_tui.spine.commands import CloseSession, Command
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, ConfigError, SandboxUnavailable, StoreError
from alita_tui.spine.history import of
from alita_tui.spine.inventory import Inventory
from alita_tui.spine.ports import Asker, PackageIndex, Sandbox, ToolShelf
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.text import counted
from alita_tui.spine.values import MemoryItem, SandboxStatus
from alita_tui.wiring import damage
from alita_tui.wiring.house import House
from alita_tui.wiring.identity import me, new_id, now
from alita_tui.wiring.records import past_calls
from alita_tui.wiring.verdicts import ruling, unnamed

if TYPE_CHECKING:
    from alita_tui.agent.budget import Budget
    from alita_tui.agent.calling import ModelCalls
    from alita_tui.agent.orchestrator import Orchestrator
    from alita_tui.agent.questions import Questions
    from alita_tui.config.settings import BudgetSettings
    from alita_tui.llm.roster import Roster
    from alita_tui.store.sessions import SessionFile
    from alita_tui.toolsmith.gate import Decision
    from alita_tui.toolsmith.gates.every import Gates
    from alita_tui.view.model import SessionView

RETRY_SECONDS = 1.0
"""After which saving is tried again where it failed."""


class LiveSource:
    """What the session holds already, then what happens. Meets `EventSource`."""

    def __init__(self, history: Sequence[Envelope], news: Subscription) -> None:
        self.history = history
        """Grows with the session."""
        self._held = len(history)
        self._news = news

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        for envelope in islice(self.history, self._held):
            yield envelope
        async for envelope in self._news:
            yield envelope


class Live:
    """One open session: its file, its engine, its stream. Meets `CommandSink`."""

    def __init__(
        self, house: House, file: SessionFile, models: Roster, redactor: Redactor, *, parks: bool
    ) -> None:
        from alita_tui.agent.orchestrator import Orchestrator, Policy
        from alita_tui.agent.questions import Questions
        from alita_tui.agent.working import WorkingContext
        from alita_tui.registry.lent import LendingShelf
        from alita_tui.toolsmith.gate import Gate
        from alita_tui.toolsmith.proving import Prover
        from alita_tui.toolsmith.smith import Smith

        self._house = house
        self._file = file
        self._models = models
        self.session_id = file.session_id
        history = file.history()
        retry = None if parks else RETRY_SECONDS  # where nobody looks on, waiting helps nobody
        self.bus = Bus(file.session_id, file, now, history=history, redactor=redactor, retry=retry)
        self.source = LiveSource(self.bus.history, self.bus.subscribe())
        self._checked: SandboxStatus | None = None
        self._served = asyncio.Event()
        self._warming: asyncio.Task[None] | None = None
        self.seen: Callable[[], SessionView] | None = None
        """Gives a view of this session from whoever folds it anyway; closing folds only what came after."""
        self._web = house.web(self.bus.redacted)
        self._loop = asyncio.get_running_loop()
        budget = house.loaded.settings.budget
        questions = Questions(self.bus, parks=parks)
        asker = _asker(house, self.bus, models, questions)
        broker = house.broker(self._brokered, asker, redactor)
        self._sandbox = house.sandbox(file.session_id, pool=True, broker=broker)
        shelf = LendingShelf(house.shelf)
        house.desk.told = self._warn
        gate = Gate(
            self.bus,
            house.desk,
            me=me(),
            parks=parks,
            settled=self._settled,
            rule=self._ruled,
            unnamed=lambda request, command: unnamed(self.bus.history, request, command),
        )
        before, after = gates(house, self._sandbox, asker, self._web, shelf)
        prover = Prover(
            self.bus,
            self._sandbox,
            before=before,
            after=after,
            limits=house.limits,
            progress=self._progress,
        )
        smith = Smith(
            self.bus,
            asker,
            prover,
            shelf,
            gate,
            max_repairs=budget.max_repairs,
            model_name=models.name,
            new_id=new_id,
        )
        self.engine: Orchestrator = Orchestrator(
            self.bus,
            asker,
            smith,
            gate,
            shelf,
            self._sandbox,
            house.memory,
            self._web,
            questions,
            WorkingContext(self.bus, asker, lambda: models.router.window("orchestrator")),
            policy=Policy(
                max_steps=budget.max_steps,
                reply_tokens=budget.reply_tokens,
                run_limits=house.limits,
                teaches=not _is_fork(history),
            ),
            learn=self._learn,
            new_id=new_id,
            progress=self._progress,
        )

    def send(self, command: Command) -> None:
        """See `CommandSink.send`."""
        if isinstance(command, CloseSession):
            self.bus.leave()
        self.engine.send(command)

    async def run(self, *, until_idle: bool = False) -> None:
        """Open or take up the session, serve it, let it go in good order."""
        await self._open()
        try:
            await self.engine.run(until_idle=until_idle)
        finally:
            await self._close()

    async def _open(self) -> None:
        if self.bus.history:
            restored = self._file.restored
            await self._settled_again()
            strange = await asyncio.to_thread(_strange, self.bus.history)
            unread = f"{strange} of them cannot be read by this version" if strange else ""
            note = "; ".join(filter(None, (unread, restored.note)))
            await self.bus.emit(e.SessionResumed(restored=restored.events, note=note))
        else:
            opened = e.SessionOpened(
                model=self._models.name, recorded=self._models.recorded, version=__version__
            )
            await self.bus.emit(opened)
        for problem in self._models.problems:
            await self.bus.emit(e.NoticeRaised(level="warning", text=problem.message, hint=problem.hint))
        await self._tell_records()
        for one in await asyncio.to_thread(damage.found, self._house):
            await self.bus.emit(e.NoticeRaised(level="warning", text=one.text, hint=one.hint))
        await self.bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._house.shelf.cards)))
        await self._check_sandbox(await self._sandbox.status())
        self._served.set()

    # --- upkeep: what a person looks at and does around the session --------------------------

    async def look(self) -> Inventory:
        """See the console's `Upkeep.look`. Raises SandboxUnavailable."""
        await self._served.wait()
        status = await self._sandbox.status()
        await self._check_sandbox(status)
        return await self._sandbox.inventory() if status.available else Inventory(at=now().timestamp())

    async def reap(self) -> tuple[int, int]:
        """See the console's `Upkeep.reap`. Raises SandboxUnavailable."""
        await self._served.wait()
        return await self._sandbox.reap()

    async def rebuild(self) -> None:
        """See the console's `Upkeep.rebuild`. Raises SandboxUnavailable."""
        await self._served.wait()
        failed = await self._sandbox.rebuild(self._progress)
        await self._check_sandbox(await self._sandbox.status())
        if failed:
            said = " | ".join(f"{name}: {error.message}" for name, error in failed.items())
            raise SandboxUnavailable(f"Not rebuilt: {said}", hint=next(iter(failed.values())).hint)

    async def _check_sandbox(self, status: SandboxStatus) -> None:
        """Tell the stream when the sandbox is not what it was, and start containers ahead."""
        if status == self._checked:
            return
        self._checked = status
        await self.bus.emit(e.SandboxChecked(status=status))
        if status.available:
            await self._cool_down()
            self._warming = asyncio.create_task(self._warm_up())

    async def _cool_down(self) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait((self._warming,))

    async def _warm_up(self) -> None:
        """Start containers ahead; what stands in the way the first run will say."""
        with suppress(SandboxUnavailable):
            await self._sandbox.warm_up(self._house.limits, lambda *_: None)

    async def _close(self) -> None:
        """Let everything go, each part even where another fails."""
        self.bus.leave()
        async with AsyncExitStack() as parts:
            parts.push_async_callback(asyncio.to_thread, self._file.close)
            parts.push_async_callback(self._models.aclose)
            parts.push_async_callback(self._web.close)
            parts.push_async_callback(self._sandbox.close)
            parts.push_async_callback(self._cool_down)
            parts.callback(self.bus.close)
            seen = self.seen() if self.seen is not None else None
            state = await asyncio.to_thread(self._state, seen)
            await self.bus.emit(e.SessionClosed(state=state, version=__version__))

    def _state(self, seen: SessionView | None) -> str:
        from alita_tui.view.fingerprint import fingerprint
        from alita_tui.view.fold import fold_all

        news = bisect_right(self.bus.history, seen.seq, key=lambda one: one.seq or 0) if seen else 0
        return fingerprint(fold_all(self.bus.history[news:], seen))

    def _progress(self, work: str, done: float, total: float, detail: str) -> None:
        hint = e.Progressed(work=work, done=done, total=total, detail=detail)
        self._loop.call_soon_threadsafe(self.bus.hint, hint)

    async def _brokered(self, answered: e.BrokerAnswered) -> None:
        await self.bus.emit(answered, span=answered.call_id)

    def _settled(self, request: e.ApprovalRequested, _decision: Decision) -> None:
        """A verdict is on record in the session: enter it in the audit, clear the desk."""
        from alita_tui.view.queries import build_of, events_of
        from alita_tui.view.seen import evidence

        ours = events_of(self.bus.history, request.build_id)
        verdicts = (one.event for one in reversed(ours) if isinstance(one.event, e.ApprovalResolved))
        verdict = next(one for one in verdicts if one.approval_id == request.approval_id)
        made = build_of(ours, request.build_id)
        self._house.audit.enter(self.session_id, request, verdict, evidence(made) if made else ())
        with suppress(StoreError):  # what is left of it goes when the session is taken up
            self._house.desk.taken(request.approval_id)

    def _ruled(self, request: e.ApprovalRequested) -> Decision | None:
        """The verdict of a rule of the person's; none, and a notice, where their policy cannot be read."""
        try:
            return ruling(self._house, self.bus.history, request)
        except (ConfigError, StoreError) as error:
            self._warn(f"No rule is asked. {error.message}", error.hint)
            return None

    def _warn(self, text: str, hint: str = "") -> None:
        """Put a warning on record; for threads beside the loop."""
        notice = e.NoticeRaised(level="warning", text=text, hint=hint)
        asyncio.run_coroutine_threadsafe(self.bus.emit(notice), self._loop).result()

    async def _settled_again(self) -> None:
        """The same; an error that nobody foresaw is a notice, and the session opens."""
        from alita_tui.agent.notices import unexpected

        try:
            await asyncio.to_thread(self._settle_again)
        except AlitaError:
            raise
        except Exception as error:  # noqa: BLE001  # a session always opens
            await self.bus.emit(unexpected(error))

    def _settle_again(self) -> None:
        """What a crash kept from following a verdict, or a move."""
        self._house.audit.catch_up(self.session_id, self.bus.history)
        for envelope in of(self.bus.history, e.ApprovalResolved):  # its note is not needed any more
            self._house.desk.taken(cast(e.ApprovalResolved, envelope.event).approval_id)

    async def _tell_records(self) -> None:
        """Say what of the log or the library cannot be relied on, and mend what the log has and that has not."""
        shelf = self._house.shelf
        said = await asyncio.to_thread(shelf.standing)
        if said.problem:
            text = f"No tool runs: {said.problem}"
            await self.bus.emit(
                e.NoticeRaised(level="error", text=text, hint="Look into it: alita audit verify")
            )
            return
        for one in await asyncio.to_thread(shelf.overridden):
            await self.bus.emit(e.NoticeRaised(level="warning", text=one.text))
        await asyncio.to_thread(self._house.lineages, "console")
        if doubts := await asyncio.to_thread(shelf.doubts):
            names = ", ".join(sorted({name for name, _ in doubts})[:5]) + (", …" if len(doubts) > 5 else "")
            text = f"{counted(len(doubts), 'version')} of tools cannot prove an approval and will not run: {names}"
            hint = "`alita tools list` says why; `alita tools approve` shows one and approves it anew."
            await self.bus.emit(e.NoticeRaised(level="warning", text=text, hint=hint))

    def _learn(self, task_id: str) -> tuple[MemoryItem, ...]:
        from alita_tui.memory.lessons import episode, recipe

        return (*episode(self.bus.history, task_id), *recipe(self.bus.history, task_id))


def _strange(history: Sequence[Envelope]) -> int:
    """How many records cannot be read by this version; those that are missing are told apart."""
    return sum(cast(e.UnknownEvent, one.event).raw != "" for one in of(history, e.UnknownEvent))


def _is_fork(history: Sequence[Envelope]) -> bool:
    """True for a session that tries out what would have been: memory learns from what was."""
    first = history[0].event if history else None
    return isinstance(first, e.SessionOpened) and bool(first.parent)


def _caps(chosen: BudgetSettings) -> Budget:
    from alita_tui.agent.budget import Budget, Cap

    return Budget(
        task=Cap(usd=chosen.task_usd or None, tokens=chosen.task_tokens or None),
        session=Cap(usd=chosen.session_usd or None, tokens=chosen.session_tokens or None),
        day=Cap(usd=chosen.day_usd or None, tokens=chosen.day_tokens or None),
        build_usd=chosen.build_usd or None,
    )


def _asker(house: House, bus: Bus, models: Roster, questions: Questions) -> ModelCalls:
    """Model calls that are told on this bus and paid from the budget of its session."""
    from alita_tui.agent.calling import ModelCalls
    from alita_tui.agent.purse import Purse

    book = None if models.recorded else house.spend_book(bus.session_id)
    chosen = house.loaded.settings.budget
    purse = Purse(bus, _caps(chosen), questions, new_id, book=book, unknown_usd=chosen.unknown_usd)
    replies = None if models.recorded else house.replies(bus.redacted)
    return ModelCalls(bus, models.router, purse, new_id, cache=replies, cached=house.cached_roles)


def gates(house: House, sandbox: Sandbox, asker: Asker, index: PackageIndex, shelf: ToolShelf) -> Gates:
    """What drafts are put through before anything of them runs, and after their own tests."""
    from alita_tui.sandbox.faults import FaultDatabase
    from alita_tui.toolsmith.gates.every import every

    return every(
        sandbox,
        house.limits,
        asker=asker,
        index=index,
        book=FaultDatabase(house.loaded.settings.web.osv_url),
        shelf=shelf,
        calls=partial(past_calls, house),
        now=now,
    )


def open_file(house: House, which: str | None) -> SessionFile:
    """A session's file, opened for going on, or a new one. Raises UsageError, StoreLocked, StoreError."""
    from alita_tui.store.sessions import SessionFile

    if which is None:
        session_id = house.sessions.new_id()
        return SessionFile.create(house.sessions.path(session_id), session_id)
    file = SessionFile.open(house.sessions.find(which))
    house.sessions.know(file)
    return file


async def live(house: House, which: str | SessionFile | None = None, *, parks: bool) -> Live:
    """A session with its engine, not yet running. Raises what `open_file` and `House.models` raise."""
    models = await asyncio.to_thread(house.models)
    redactor = await asyncio.to_thread(house.redactor)
    if which is None or isinstance(which, str):
        file = await asyncio.to_thread(open_file, house, which)
    else:
        file = which
    return Live(house, file, models, redactor, parks=parks)


async def close(session: Live, running: asyncio.Task[None]) -> None:
    """Ask a running session to end and wait until it has."""
    session.send(CloseSession())
    await running
