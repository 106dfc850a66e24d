"""A live session: its file, its engine, its stream, and everything the engine is joined from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from alita_tui import __version__
from alita_tui import events as e
from alita_tui.app import damage
from alita_tui.app.artefacts import files_of_recorded_task, session_artefacts
from alita_tui.app.checking import checks
from alita_tui.app.closing import ClosingState, erase, unused
from alita_tui.app.context import AppContext
from alita_tui.app.encoding import Encoding
from alita_tui.app.forbidden import forbidden
from alita_tui.app.identity import me, new_id, now
from alita_tui.app.live_source import LiveSource
from alita_tui.app.memory import forgotten_since
from alita_tui.app.model_calls import model_calls
from alita_tui.app.project import proposal_budget
from alita_tui.app.recordings import is_fork
from alita_tui.app.servers.book import LazyServers
from alita_tui.app.session_watches import beside, follow_inbox, sandbox_watched
from alita_tui.app.verdicts import FaultsUnknown, ruling, unnamed
from alita_tui.events import MemoryItem, SandboxStatus
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import CloseSession, Command, ResolveApproval, SubmitTask
from alita_tui.spine.errors import AlitaError, ConfigError, SandboxUnavailable, StoreError
from alita_tui.spine.history import History, of, of_kind
from alita_tui.spine.inventory import Inventory
from alita_tui.spine.ports.memory import ProposedFact
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.text import counted

if TYPE_CHECKING:
    from alita_tui.agent.orchestrator import Orchestrator
    from alita_tui.llm.roster import Roster
    from alita_tui.spine.ports.stream import CommandSink
    from alita_tui.store.sessions import SessionFile
    from alita_tui.view.model import SessionView

RETRY_SECONDS = 1.0
"""Pause before a failed write is tried again."""


_PATIENCE = 0.05
"""Longest wait in seconds for the removal of containers when the person leaves; their processes have ended by then."""
_READ_FOR_ESTIMATE = 20
"""Most sessions read for the estimate of a task, of those that the statistics have not read yet."""


class LiveSession:
    """One open session. Implements `CommandSink` and the console's `Upkeep`."""

    def __init__(
        self,
        app: AppContext,
        file: SessionFile,
        models: Roster,
        redactor: Redactor,
        *,
        parks: bool,
        answer: str = "",
    ) -> None:
        """`answer` answers the question that the session left open."""
        from alita_tui.agent.context_window import WorkingContext
        from alita_tui.agent.orchestrator import Orchestrator
        from alita_tui.agent.policy import Policy
        from alita_tui.agent.questions import Questions
        from alita_tui.app.page_browser import pages
        from alita_tui.app.roles import crew_policy, roles_of
        from alita_tui.app.statistics import estimate
        from alita_tui.app.surroundings import context_provider, surroundings
        from alita_tui.registry.task_library import TaskLibrary
        from alita_tui.toolsmith.approval_gate import ApprovalGate
        from alita_tui.toolsmith.checks.probes import misfit
        from alita_tui.toolsmith.prover import Prover
        from alita_tui.toolsmith.smith import Smith

        self._app = app
        self._file = file
        self._models = models
        self.session_id = file.session_id
        history = file.history()
        retry = None if parks else RETRY_SECONDS  # without a screen no person can free disk space meanwhile
        self.bus = Bus(file.session_id, file, now, history=history, redactor=redactor, retry=retry)
        self.source = LiveSource(self.bus.history, self.bus.subscribe())
        self._sandbox_status: SandboxStatus | None = None
        self._faults_unknown = FaultsUnknown()
        self._opened = asyncio.Event()
        self._warming: asyncio.Task[None] | None = None
        self.folded_view: Callable[[], SessionView] | None = None
        """Returns the console's view of the session, so that closing has to fold only later events."""
        self.closing_state = ClosingState()
        self._web = app.web(self.bus.redacted, redactor)
        self._loop = asyncio.get_running_loop()
        chosen = app.loaded.settings
        budget, window = chosen.budget, models.router.window
        questions = Questions(self.bus, parks=parks, earlier_answer=answer)
        asker = model_calls(app, self.bus, models, questions)
        broker = app.broker(self._record_request, asker, redactor)
        self._sandbox = app.sandbox(file.session_id, pool=True, broker=broker)
        self._sandbox.servers = LazyServers(
            app, self._sandbox, self.bus.emit, redactor, asker=asker, ask_person=questions.ask_for_server
        )
        self._encoding = Encoding(app, self.bus, asker)
        library = TaskLibrary(app.library, self._encoding.for_search, partial(forbidden, app))
        app.inbox.report = self._warn
        gate = ApprovalGate(
            self.bus,
            app.inbox,
            me=me(),
            parks=parks,
            settled=self._enter_verdict,
            rule=self._verdict_of_rule,
            unnamed=lambda request, verdict: unnamed(self.bus.history, request, verdict),
            signed=app.audit.sign_verdict,
            on_record=lambda request, verdict: app.audit.has(
                request.approval_id, request.digest, verdict.decision
            ),
        )
        before, after = checks(app, self._sandbox, asker, self._web, library, self._faults_unknown)
        prover = Prover(
            self.bus,
            self._sandbox,
            before=before,
            after=after,
            limits=app.limits,
            progress=self._progress,
        )
        smith = Smith(
            self.bus,
            asker,
            prover,
            library,
            gate,
            max_repairs=budget.max_repairs, model_name=models.name, new_id=new_id,
            languages=chosen.sandbox.languages or ("python",), browser=chosen.sandbox.browser,
        )  # fmt: skip
        self._artefacts = session_artefacts(app, file.session_id)
        self.engine: Orchestrator = Orchestrator(
            self.bus,
            asker,
            smith,
            gate,
            library,
            self._sandbox,
            app.memory,
            pages(app, self._web, self._sandbox, self._progress),
            questions,
            WorkingContext(
                self.bus, asker, partial(window, "orchestrator"), partial(window, "summariser"),
                chosen.context.blocks, window,
            ),
            self._artefacts,
            policy=Policy(
                parallel=1 if models.recorded else chosen.tasks.parallel,
                max_steps=budget.max_steps,
                reply_tokens=budget.reply_tokens,
                run_limits=app.limits,
                teaches=not is_fork(history) and "learning" not in app.left_out,
                plans=budget.plans,
                **crew_policy(app),
                recall_tokens=chosen.memory.tokens,
                propose_usd=proposal_budget(app),
            ),
            learn=self._learn,
            new_id=new_id,
            progress=self._progress,
            known_state=lambda: self.folded_view().state if self.folded_view is not None else None,
            misfit=misfit,
            surroundings=partial(surroundings, app),
            estimate=partial(estimate, app, most=_READ_FOR_ESTIMATE),
            provider=context_provider(app, redactor),
            encode=self._encoding.for_recall,
            blocks=chosen.context.blocks,
            roles=roles_of(app),
            budget=asker.budget,
        )  # fmt: skip
        broker.tools = self.engine.inner_calls

    @property
    def history(self) -> History:
        """The events of the session; it grows."""
        return self.bus.history

    def keep_open(self, on: bool) -> None:
        """Set whether `run` with `until_idle` stays when nothing is left to do."""
        self.engine.kept_open = on
        self.engine.send(None)

    def send(self, command: Command) -> None:
        """Hand a command to the engine."""
        if isinstance(command, SubmitTask) and self._models.recorded and not command.attach:
            command = replace(command, attach=files_of_recorded_task(command.text))
        if isinstance(command, CloseSession):
            self.bus.leave()
            self.source.caught_up.set()
        self.engine.send(command)

    async def run(
        self, *, until_idle: bool = False, ready: asyncio.Event | None = None, attended: bool = False
    ) -> None:
        """Open or resume the session, run its engine once `ready` is set, close everything in order.

        `attended`: a person is at the console. Unfinished work waits for them, and they do not wait for closing.
        """
        await self._open()
        try:
            if ready is not None:
                await ready.wait()
            inbox = follow_inbox(self._app, self.session_id, self.engine, self._warn)
            sandbox = sandbox_watched(self.bus, self._check_again) if attended else nullcontext()
            async with beside(inbox, "alita task inbox"), sandbox:
                await self.engine.run(until_idle=until_idle, hold=attended)
        finally:
            await self._close(attended=attended)

    async def _open(self) -> None:
        if self.bus.history:
            await asyncio.to_thread(self._artefacts.sweep)
            restored = self._file.restored
            await self._catch_up()
            unknown = await asyncio.to_thread(damage.count_unknown, self.bus.history)
            unread = f"{unknown} of them cannot be read by this version" if unknown else ""
            note = "; ".join(filter(None, (unread, restored.note)))
            await self.bus.emit(e.SessionResumed(restored=restored.events, note=note))
            for event in await asyncio.to_thread(forgotten_since, self._app, self.bus.history):
                await self.bus.emit(event)
        else:
            opened = e.SessionOpened(
                model=self._models.name, recorded=self._models.recorded, version=__version__
            )
            await self.bus.emit(opened)
        for problem in self._models.problems:
            await self.bus.emit(e.NoticeRaised(level="warning", text=problem.message, hint=problem.hint))
        await self._report_records()
        for damaged in await asyncio.to_thread(damage.damaged_files, self._app):
            await self.bus.emit(e.NoticeRaised(level="warning", text=damaged.text, hint=damaged.hint))
        await self.bus.emit(e.LibraryLoaded(tools=await asyncio.to_thread(self._app.library.cards)))
        await self._check_again()
        self._opened.set()

    # --- the sandbox around the session -------------------------------------------------------

    async def look(self) -> Inventory:
        """Return the sandbox's containers and environments. Raises SandboxUnavailable."""
        await self._opened.wait()
        status = await self._sandbox.status()
        await self._check_sandbox(status)
        return await self._sandbox.inventory() if status.available else Inventory(at=now().timestamp())

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left; return how many containers and folders. Raises SandboxUnavailable."""
        await self._opened.wait()
        return await self._sandbox.reap()

    async def rebuild(self) -> None:
        """Rebuild the base image. Raises SandboxUnavailable."""
        await self._opened.wait()
        failed = await self._sandbox.rebuild(self._progress)
        await self._check_again()
        if failed:
            reasons = " | ".join(f"{name}: {error.message}" for name, error in failed.items())
            raise SandboxUnavailable(f"Not rebuilt: {reasons}", hint=next(iter(failed.values())).hint)

    async def _check_again(self, doubted: bool = True) -> None:
        if doubted or self._sandbox_status is None or not self._sandbox_status.available:
            await self._check_sandbox(await self._sandbox.status())

    async def _check_sandbox(self, status: SandboxStatus) -> None:
        """Record a status that changed, and start containers ahead."""
        if status == self._sandbox_status:
            return
        self._sandbox_status = status
        await self.bus.emit(e.SandboxChecked(status=status))
        if status.available:
            await self._cool_down()
            self._warming = asyncio.create_task(self._warm_up())

    async def _cool_down(self) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait((self._warming,))

    async def _warm_up(self) -> None:
        """Start containers ahead; if that fails, the first run reports why."""
        with suppress(SandboxUnavailable):
            await self._sandbox.warm_up(self._app.limits, lambda *_: None)

    async def _close(self, *, attended: bool) -> None:
        """Close every part, even if closing another one fails."""
        self.bus.leave()
        async with AsyncExitStack() as parts:
            if attended and unused(self.bus.history):
                parts.push_async_callback(asyncio.to_thread, erase, self._app, self.session_id)
            parts.push_async_callback(asyncio.to_thread, self._file.close)
            parts.push_async_callback(self._models.aclose)
            parts.push_async_callback(self._encoding.aclose)
            parts.push_async_callback(self._web.close)
            parts.push_async_callback(self._sandbox.close, *((_PATIENCE,) if attended else ()))
            parts.push_async_callback(self._cool_down)
            parts.callback(self.bus.close)
            view = self.folded_view() if self.folded_view is not None else None
            state = await asyncio.to_thread(
                self.closing_state.fingerprint, self.bus.history, view, attended=attended
            )
            await self.bus.emit(e.SessionClosed(state=state, version=__version__))

    def _progress(self, work: str, done: float, total: float, detail: str) -> None:
        hint = e.Progressed(work=work, done=done, total=total, detail=detail)
        self._loop.call_soon_threadsafe(self.bus.hint, hint)

    async def _record_request(self, event: e.BrokerAnswered | e.PageLogged) -> None:
        await self.bus.emit(self.engine.inner_calls.placed(event), span=event.call_id)

    def _enter_verdict(self, request: e.ApprovalRequested, command: ResolveApproval) -> None:
        """Enter a recorded verdict in the audit log and clear it from the inbox."""
        from alita_tui.view.queries import build_of, events_of
        from alita_tui.view.verdict_evidence import evidence

        events = events_of(self.bus.history, request.build_id)
        resolved = next(
            verdict
            for verdict in of_kind(reversed(events), e.ApprovalResolved)
            if verdict.approval_id == request.approval_id
        )
        build = build_of(events, request.build_id)
        self._faults_unknown.note(request.name, command.verdict)
        self._app.audit.enter(self.session_id, request, resolved, evidence(build) if build else ())
        with suppress(StoreError):  # a note that stays is cleared when the session is resumed
            self._app.inbox.taken(request.approval_id)

    def _verdict_of_rule(self, request: e.ApprovalRequested) -> ResolveApproval | None:
        """Return the verdict of a rule, if one covers the build; a policy that cannot be read is a notice."""
        try:
            return ruling(self._app, self.bus.history, request)
        except (ConfigError, StoreError) as error:
            self._warn(f"No rule is asked. {error.message}", error.hint)
            return None

    def _warn(self, text: str, hint: str = "") -> None:
        """Record a warning from another thread."""
        notice = e.NoticeRaised(level="warning", text=text, hint=hint)
        asyncio.run_coroutine_threadsafe(self.bus.emit(notice), self._loop).result()

    async def _catch_up(self) -> None:
        """Finish what a crash interrupted; an unexpected error is a notice, and the session opens."""
        from alita_tui.agent.notices import unexpected

        try:
            await asyncio.to_thread(self._catch_up_records)
        except AlitaError:
            raise
        except Exception as error:  # noqa: BLE001  # a session always opens
            await self.bus.emit(unexpected(error))

    def _catch_up_records(self) -> None:
        """Enter recorded verdicts that the audit log lacks, and clear their notes from the inbox."""
        self._app.audit.catch_up(self.session_id, self.bus.history)
        for envelope in of(self.bus.history, e.ApprovalResolved):
            self._app.inbox.taken(cast(e.ApprovalResolved, envelope.event).approval_id)

    async def _report_records(self) -> None:
        """Report problems of audit log and library; correct the library by the log."""
        library = self._app.library
        standing = await asyncio.to_thread(library.standing)
        if standing.problem:
            text = f"No tool runs: {standing.problem}"
            await self.bus.emit(
                e.NoticeRaised(level="error", text=text, hint="Look into it: alita audit verify")
            )
            return
        for difference in await asyncio.to_thread(library.overridden):
            await self.bus.emit(e.NoticeRaised(level="warning", text=difference.text))
        await asyncio.to_thread(self._app.lineages, "console")
        if doubts := await asyncio.to_thread(library.doubts):
            names = ", ".join(sorted({name for name, _ in doubts})[:5]) + (", …" if len(doubts) > 5 else "")
            text = f"{counted(len(doubts), 'version')} of tools cannot prove an approval and will not run: {names}"
            hint = "`alita tools list` says why; `alita tools approve` shows one and approves it anew."
            await self.bus.emit(e.NoticeRaised(level="warning", text=text, hint=hint))

    def _learn(self, task_id: e.TaskId, proposed: tuple[ProposedFact, ...] = ()) -> tuple[MemoryItem, ...]:
        from alita_tui.memory.lessons import lessons

        return lessons(self.bus.history, task_id, proposed)


def open_file(app: AppContext, session: str | None) -> SessionFile:
    """Open a session's file for writing, or make a new one.

    Raises UsageError, also for an imported session, whose verdicts and evidence are not this home's; StoreLocked,
    StoreError.
    """
    from alita_tui.store.sessions import SessionFile, from_elsewhere

    if session is None:
        session_id = app.sessions.new_id()
        return SessionFile.create(app.sessions.path(session_id), session_id)
    file = SessionFile.open(app.sessions.find_own(session))
    if file.imported:
        file.close()
        raise from_elsewhere(file.session_id)
    app.sessions.know(file)
    return file


async def open_session(
    app: AppContext, session: str | SessionFile | None = None, *, parks: bool, answer: str = ""
) -> LiveSession:
    """Return a session with its engine, not yet running. Raises as `open_file` and `AppContext.models` do."""
    models = await asyncio.to_thread(app.models)
    redactor = await asyncio.to_thread(app.redactor)
    if session is None or isinstance(session, str):
        file = await asyncio.to_thread(open_file, app, session)
    else:
        file = session
    return LiveSession(app, file, models, redactor, parks=parks, answer=answer)


async def close_session(session: CommandSink, running: asyncio.Task[None]) -> None:
    """Ask a running session to end, and wait until it has."""
    session.send(CloseSession())
    await running
