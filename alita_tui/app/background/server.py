"""`alita serve`: runs detached and scheduled tasks without a console.

One process per home. Its work is on disk (`Ledger`) before it begins, so a kill loses nothing: the next process takes
it up. A session stays open while it has work, while it waits for the person, and while a console is attached.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import threading
from bisect import bisect_right
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from alita_tui import __version__
from alita_tui.agent.projection import StateProjection
from alita_tui.app.background import wire
from alita_tui.app.background.ledger import Ledger, Work
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.tasks import begin_with
from alita_tui.config.invocation import command_line
from alita_tui.events import ApprovalRequested, QuestionAsked, TaskFinished, TaskSubmitted
from alita_tui.spine.commands import CloseSession, SubmitTask
from alita_tui.spine.envelope import encode
from alita_tui.spine.errors import AlitaError, StoreError, StoreLocked, UsageError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.app.session import LiveSession
    from alita_tui.state.session import SessionState

LOOK_SECONDS = 2.0
"""Seconds between two looks at the lists without a request."""
LINGER_SECONDS = 30.0
"""How long a background that was started for one task stays when nothing is left to do."""


class Background:
    """All sessions that the background has open, its schedules and its socket."""

    def __init__(self, app: AppContext, home: Path | None, tell: Callable[[str], None]) -> None:
        """`tell` is called with a line about each event."""
        self._app = app
        self._home = home
        self._tell = tell
        self._ledger = Ledger(app, tell)
        self._open: dict[str, OpenSession] = {}
        self._elsewhere: set[str] = set()
        """Sessions that another process had open."""
        self._look = asyncio.Event()
        self._ending = False
        self._links: set[asyncio.Task[None]] = set()

    async def serve(self, *, until_idle: bool) -> None:
        """Work until the process is asked to end, or with `until_idle` until no work is left.

        Raises UsageError if another one serves this home, StoreError.
        """
        path = self._app.paths.background_socket
        with only_one(path):
            server = await asyncio.start_unix_server(self._linked, sock=wire.listening(path))
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.end)
            self._tell(f"serving {self._app.paths.data} as process {os.getpid()}")
            try:
                await self._work(until_idle=until_idle)
            finally:
                server.close()
                path.unlink(missing_ok=True)
                await self._close()

    def end(self) -> None:
        """Shut down cleanly; the next process continues the unfinished work."""
        self._ending = True
        self._look.set()

    async def _work(self, *, until_idle: bool) -> None:
        loop = asyncio.get_running_loop()
        idle_since = loop.time()
        while not self._ending:
            self._look.clear()
            try:
                scheduled = await asyncio.to_thread(self._begin_due)
                for work in await asyncio.to_thread(self._ledger.work):
                    self._take_up(work)
            except StoreError as error:  # a full disk or an unreadable file: the next look retries
                self._tell(str(error))
                scheduled = True
            if self._open or scheduled:
                idle_since = loop.time()
            if until_idle and loop.time() - idle_since > LINGER_SECONDS:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), LOOK_SECONDS)

    def _begin_due(self) -> bool:
        """Add due runs to the list of work; return whether any schedule is not paused."""
        schedules = [schedule for schedule in self._ledger.schedules() if not schedule.paused]
        for schedule in schedules:
            if schedule.session_id not in self._open and schedule.due(now()):
                with self._ledger.changing():
                    self._begin(schedule.id)
        return bool(schedules)

    def _begin(self, schedule_id: str) -> None:
        """Add one run to the list, at most once for each due time; called with the lists locked."""
        try:
            schedule = self._ledger.schedule(schedule_id)
        except UsageError:  # it was cancelled just now
            return
        at = schedule.due(now())
        busy = {work.session_id for work in self._ledger.work()}
        if at is None or schedule.session_id in busy:
            return
        session_id = self._app.sessions.new_id()
        self._ledger.put(
            Work(
                session_id=session_id, text=schedule.text, attach=schedule.attach, model=schedule.model,
                project=schedule.project, schedule=schedule.id,
            )
        )  # fmt: skip
        self._ledger.put(replace(schedule, last=at, session_id=session_id))
        late = now() - at > timedelta(minutes=5)
        self._tell(
            f"{session_id}: {schedule.id} is due{f' since {at.astimezone():%Y-%m-%d %H:%M}' if late else ''}"
        )

    def _take_up(self, work: Work) -> None:
        if work.session_id not in self._open:
            opened = self._open[work.session_id] = OpenSession(work, self._home, self._tell)
            opened.running = asyncio.create_task(self._run(opened), name=f"alita session {work.session_id}")

    async def _run(self, opened: OpenSession) -> None:
        """Work on a session until it ends, and remove it from the list unless it got more work meanwhile."""
        session_id = opened.work.session_id
        try:
            try:
                await opened.run()
            except StoreLocked:
                if session_id not in self._elsewhere:
                    self._tell(f"{session_id}: another process has it open and goes on with it")
                self._elsewhere.add(session_id)
            except AlitaError as error:
                self._tell(f"{session_id}: {error}")
            if not self._ending and not await asyncio.to_thread(self._has_more, session_id):
                await asyncio.to_thread(self._ledger.remove, opened.work)
        except StoreError as error:
            self._tell(str(error))
        finally:
            del self._open[session_id]
            self._look.set()

    def _has_more(self, session_id: str) -> bool:
        from alita_tui.store.task_inbox import TaskInbox

        return bool(TaskInbox(self._app.paths.left_tasks, self._app.audit).waiting(session_id))

    async def _close(self) -> None:
        for opened in self._open.values():
            opened.leave()
        if running := [opened.running for opened in self._open.values() if opened.running]:
            await asyncio.wait(running)
        for link in self._links:
            link.cancel()
        if self._links:
            await asyncio.wait(self._links)
        self._tell("ended")

    # --- the socket ---------------------------------------------------------------------------

    async def _linked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one console or command."""
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        try:
            if wire.peer(writer) != os.getuid():
                return
            while message := await wire.request(reader):
                match message:
                    case wire.Look():
                        self._look.set()
                        writer.write(wire.framed(await self._standing()))
                    case wire.End():
                        writer.write(wire.framed(await self._standing()))
                        self.end()
                    case wire.Attach(session_id=session_id, after=after):
                        await self._attach(session_id, after, reader, writer)
                        return
                    case wire.Do() | wire.Tend():
                        writer.write(wire.framed(wire.Refused("No session is attached.")))
                await writer.drain()
        except (ValueError, ConnectionError):  # not our protocol, or the connection is gone
            pass
        except asyncio.CancelledError:  # the process ends
            pass
        finally:
            self._links.discard(link)
            writer.close()

    async def _standing(self) -> wire.Standing:
        sessions = [await opened.standing() for opened in self._open.values()]
        return wire.Standing(version=__version__, process=os.getpid(), sessions=tuple(sessions))

    async def _attach(
        self, session_id: str, after: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        opened = self._open.get(session_id)
        session = await opened.opened() if opened is not None else None
        if opened is None or session is None:
            shown_id = one_line(session_id, 60)
            opens = command_line(self._app.paths, "--session", shown_id)
            refused = wire.Refused(
                f"The background does not work on session {shown_id}.",
                hint=f"Open it in a console: {opens}",
            )
            writer.write(wire.framed(refused))
            return
        with opened.attached():
            writer.write(wire.framed(wire.Attached(version=__version__)))
            sending = asyncio.create_task(_send_events(session, after, writer), name="alita attached console")
            try:
                await _take_commands(session, reader, writer)
            finally:
                sending.cancel()
                await asyncio.wait((sending,))


class OpenSession:
    """One session that the background works on."""

    def __init__(self, work: Work, home: Path | None, tell: Callable[[str], None]) -> None:
        self.work = work
        self.running: asyncio.Task[None] | None = None
        self._home = home
        self._tell = tell
        self._consoles = 0
        self._leaving = False
        self._session: asyncio.Future[LiveSession | None] = asyncio.get_running_loop().create_future()
        self._projection: StateProjection | None = None
        self._reading = threading.Lock()

    async def run(self) -> None:
        """Open the session and work until nothing is left to do. Raises AlitaError."""
        from alita_tui.app.session import open_session

        work = self.work
        overrides = {"model": work.model, "memory.project": work.project}
        app = await asyncio.to_thread(AppContext.open, self._home, overrides)
        try:
            if work.text:
                task = SubmitTask(text=work.text, attach=work.attach, queue_id=f"{work.session_id}-first")
                await begin_with(app, work.session_id, task)
            session = await open_session(app, work.session_id, parks=False)
            self._projection = StateProjection(session.bus)
            telling = asyncio.create_task(self._follow(session))
            self._session.set_result(session)
            if self._leaving:
                session.send(CloseSession())
            session.keep_open(bool(self._consoles))
            try:
                await session.run(until_idle=True)
            finally:
                await asyncio.wait((telling,))
        finally:
            if not self._session.done():
                self._session.set_result(None)
            await asyncio.to_thread(app.close)

    async def opened(self) -> LiveSession | None:
        """Return the session once it is open; None if it could not be opened."""
        return await asyncio.shield(self._session)

    def leave(self) -> None:
        """Close the session; its unfinished work continues when it is opened again."""
        self._leaving = True
        if self._session.done() and (session := self._session.result()):
            session.send(CloseSession())

    @contextmanager
    def attached(self) -> Generator[None]:
        """Keep the session open while a console is attached."""
        self._watch(1)
        try:
            yield
        finally:
            self._watch(-1)

    def _watch(self, more: int) -> None:
        self._consoles += more
        if session := self._session.result():
            session.keep_open(bool(self._consoles))

    async def standing(self) -> wire.Session:
        """Return the state of the session."""
        state = await asyncio.to_thread(self._state) if self._projection else None
        return wire.Session(
            session_id=self.work.session_id,
            state="ending" if self._leaving else "opening" if state is None else _state_word(state),
            task=one_line(state.tasks[-1].text if state is not None and state.tasks else self.work.text, 80),
            consoles=self._consoles,
            schedule=self.work.schedule,
        )

    def _state(self) -> SessionState:
        with self._reading:
            assert self._projection is not None
            return self._projection.state

    async def _follow(self, session: LiveSession) -> None:
        """Report the events that a person would want to know about."""
        recorded = len(session.history)
        async for envelope in session.source:
            if envelope.seq is None or envelope.seq <= recorded:
                continue
            match envelope.event:
                case TaskSubmitted(text=text):
                    self._say(f"begins: {text}")
                case TaskFinished(outcome=outcome, answer=answer, reason=reason):
                    self._say(f"{outcome.replace('_', ' ')}: {answer or reason}")
                case ApprovalRequested(name=name):
                    self._say(f"waits for your decision on {name}: alita attach {session.session_id}")
                case QuestionAsked(text=text):
                    self._say(f"asks you: {text}")
                case _:
                    pass

    def _say(self, text: str) -> None:
        self._tell(f"{self.work.session_id}: {one_line(text, 200)}")


def _state_word(state: SessionState) -> str:
    phases = {lane.phase for lane in state.lanes} or {state.phase}
    return "waiting" if phases & {"waiting", "asking"} else "working"


async def _send_events(session: LiveSession, after: int, writer: asyncio.StreamWriter) -> None:
    """Send the events that the console lacks, then new ones; close the connection when the session ends."""
    history, news = session.history, session.bus.subscribe()
    count = len(history)
    try:
        start = bisect_right(history, after, hi=count, key=lambda envelope: envelope.seq or 0)
        for place in range(start, count):
            writer.write(wire.framed(wire.news(encode(history[place]))))
            await writer.drain()
        async for envelope in news:
            writer.write(wire.framed(wire.news(encode(envelope))))
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        session.bus.unsubscribe(news)
        writer.close()


async def _take_commands(
    session: LiveSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Carry out what a console sends, until it leaves."""
    tending: set[asyncio.Task[None]] = set()
    while message := await wire.request(reader):
        match message:
            case wire.Do():
                command = wire.command_of(message)
                if not isinstance(command, CloseSession):  # a console that leaves ends nothing
                    session.send(command)
            case wire.Tend():
                task = asyncio.create_task(_tend(session, message, writer))
                tending.add(task)
                task.add_done_callback(tending.discard)
            case _:
                raise ValueError(type(message).__name__)


async def _tend(session: LiveSession, message: wire.Tend, writer: asyncio.StreamWriter) -> None:
    answer = wire.Tended(number=message.number)
    try:
        match message.what:
            case "look":
                answer = wire.Tended(number=message.number, inventory=await session.look())
            case "reap":
                answer = wire.Tended(number=message.number, counts=await session.reap())
            case _:
                await session.rebuild()
    except AlitaError as error:
        answer = wire.Tended(number=message.number, problem=error.message, hint=error.hint)
    writer.write(wire.framed(answer))


@contextmanager
def only_one(socket: Path) -> Generator[None]:
    """Hold the lock of a home's background. Raises UsageError if another process has it, StoreError."""
    path = socket.with_suffix(".lock")
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}.", hint="Check its folder.") from error
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"The background of this home runs already ({path}).",
                hint="See what it does: alita serve --status",
            ) from None
        yield
    finally:
        os.close(fd)
