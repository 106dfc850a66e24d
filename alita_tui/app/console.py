"""Opens the full-screen console on a session, a recording or the wizard. Textual is imported here only."""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from alita_tui.app.catalog import AppCatalog
from alita_tui.app.context import AppContext, close_all
from alita_tui.app.terminal import need_terminal, piped
from alita_tui.spine.errors import AlitaError, StoreError
from alita_tui.spine.ports.stream import CommandSink
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.app.live_source import LiveSource
    from alita_tui.console.first_frame import FirstFrame
    from alita_tui.console.ports import ConsoleOptions, Switch
    from alita_tui.console.terminal import Terminal
    from alita_tui.replay.playback import LiveTape
    from alita_tui.spine.commands import Command
    from alita_tui.spine.envelope import Envelope
    from alita_tui.spine.history import History
    from alita_tui.spine.inventory import Inventory

Serve = Callable[["PendingSession", "LiveTape"], Coroutine[None, None, None]]
"""Opens a session after the first paint, and serves it until it is left."""


def open_console(
    home: Path | None = None,
    session: str | None = None,
    model: str | None = None,
    project: str | None = None,
) -> None:
    """Open the console on `session` or a new one; leaving it may open the next one in its place."""
    draft_text = piped()
    need_terminal()
    atexit.register(_end)
    gc.disable()  # until the first paint, next to nothing becomes garbage
    app = AppContext.open(home, {"model": model, "memory.project": project})
    app.paths.prepare()
    if not app.loaded.settings.configured and session is None:
        if not asyncio.run(_run_wizard(app)):
            return
        app = AppContext.open(home, {"model": model, "memory.project": project})
    _run_until_left(app, *asyncio.run(_show_session(app, session, home, draft_text)), home)


def open_replay(home: Path | None, session: str | None, at: int | None = None) -> None:
    """Open the console on a recording, at an event: without engine, sandbox or anywhere to send a command."""
    need_terminal()
    atexit.register(_end)
    app = AppContext.open(home, strict=False)
    app.paths.prepare()
    _run_until_left(app, *asyncio.run(_show_replay(app, session, at)))


def open_setup(home: Path | None) -> bool:
    """Open the wizard without a session. Return True if a choice was saved and the library is empty."""
    need_terminal()
    app = AppContext.open(home, strict=False)
    app.paths.prepare()
    return asyncio.run(_run_wizard(app)) and not app.library.cards()


def _run_until_left(app: AppContext, code: int, switch: Switch | None, home: Path | None = None) -> None:
    """Open each session that the person switches to, until they leave; then end the process."""
    while switch is not None:
        code, switch = asyncio.run(_show_next(app, switch.session_id or None, home))
    close_all()
    _codes.append(code)
    sys.exit(code)


_codes: list[int] = []
"""The exit code, once everything is closed."""


def _end() -> None:
    """End the process here if all is closed, because freeing its memory would double the time that leaving takes.

    It is registered first, so it runs after all other handlers: threads are joined and temporary files are removed.
    """
    if _codes:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_codes[-1])


async def _show_next(app: AppContext, wanted_id: str | None, home: Path | None) -> tuple[int, Switch | None]:
    """Show a session: attach to the background if it works on it, else open it here."""
    from alita_tui.app.background.client import running

    if wanted_id is not None and any(session.session_id == wanted_id for session in await running(app)):
        return await _show_attached(app, wanted_id)
    return await _show_session(app, wanted_id, home)


class OpenedSession(CommandSink, Protocol):
    """A session that is open, in this process or in the background."""

    session_id: str
    source: LiveSource

    @property
    def history(self) -> History:
        """Its events; it grows."""

    async def look(self) -> Inventory:
        """Return the sandbox's containers and environments."""

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left; return how many containers and folders."""

    async def rebuild(self) -> None:
        """Rebuild the base image."""


class PendingSession:
    """A session that opens after the first paint; implements `EventSource`, `CommandSink` and `Upkeep`."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[OpenedSession] = asyncio.get_running_loop().create_future()
        self._early: list[Command] = []

    async def _session(self) -> OpenedSession:
        return await asyncio.shield(self.opened)  # a cancelled reader must not cancel it for the others

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        async for envelope in (await self._session()).source:
            yield envelope

    async def end(self, count: int) -> tuple[int, Sequence[Envelope]]:
        """Return the number of the last event on record, and the last `count` events."""
        end = (await self._session()).history[-count:]
        return (end[-1].seq or 0) if end else 0, end

    def history(self) -> History | None:
        """Return the events of the session; None until it is open."""
        return self.opened.result().history if self.opened.done() else None

    def resolve(self, session: OpenedSession) -> None:
        """Take the opened session, and send it the commands that came before it was open."""
        self.opened.set_result(session)
        for command in self._early:
            session.send(command)

    def send(self, command: Command) -> None:
        """Send a command, at the latest once the session is open."""
        if self.opened.done():
            self.opened.result().send(command)
        else:
            self._early.append(command)

    async def look(self) -> Inventory:
        """Return the sandbox's containers and environments."""
        return await (await self._session()).look()

    async def reap(self) -> tuple[int, int]:
        """Remove what dead sessions left; return how many containers and folders."""
        return await (await self._session()).reap()

    async def rebuild(self) -> None:
        """Rebuild the base image."""
        await (await self._session()).rebuild()


def _way_back(app: AppContext, *opens: str) -> str:
    """Return the command that opens a session again, with its id if that is given; quoted for the shell."""
    from alita_tui.config.invocation import command_line

    return command_line(app.paths, *opens)


def _options(
    app: AppContext, draft_text: str = "", terminal: Terminal | None = None, *, opens: str = "--session"
) -> ConsoleOptions:
    from alita_tui.config.paths import shipped
    from alita_tui.console.ports import ConsoleOptions
    from alita_tui.console.terminal import ask_terminal

    settings = app.loaded.settings.console
    dark, graphics = terminal or ask_terminal()
    theme = _theme(app, dark)
    return ConsoleOptions(
        builtin_themes=shipped("themes"),
        user_themes=app.paths.themes,
        theme=theme,
        dark=dark,
        graphics=graphics,
        keymap=app.paths.keymap,
        reduced_motion=settings.reduced_motion or os.environ.get("TEXTUAL_ANIMATIONS") == "none",
        detail=settings.detail,
        bell=settings.bell,
        way_back=_way_back(app, opens),
        written=draft_text,
    )


def _theme(app: AppContext, dark: bool) -> str:
    """Return the name of the chosen theme."""
    settings = app.loaded.settings.console
    return (settings.theme if dark or not settings.theme_light else settings.theme_light) or "auto"


async def _show_session(
    app: AppContext, wanted_id: str | None, home: Path | None, draft_text: str = ""
) -> tuple[int, Switch | None]:
    """Show one session until it is left; its engine runs on the same loop. `draft_text` fills the composer."""
    # Checked first, so that most errors are printed before the screen changes.
    if wanted_id is not None:
        await asyncio.to_thread(app.sessions.check_available, wanted_id)
    with _first_frame(app) as first:
        return await _show_own(app, wanted_id, home, draft_text, first)


@contextmanager
def _first_frame(app: AppContext) -> Iterator[FirstFrame | None]:
    """Paint a first frame that stays while the rest is imported; yield None without a terminal."""
    from alita_tui.config.paths import shipped
    from alita_tui.console.first_frame import FirstFrame, palette_of
    from alita_tui.console.terminal import ask_terminal

    if not sys.stdin.isatty() or os.environ.get("TEXTUAL_DRIVER"):
        yield None
        return
    terminal = ask_terminal()
    theme = _theme(app, terminal.dark)
    first = FirstFrame(terminal)
    first.paint(palette_of((shipped("themes"), app.paths.themes), theme, dark=terminal.dark))
    try:
        yield first
    finally:
        first.leave()


async def _show_own(
    app: AppContext, wanted_id: str | None, home: Path | None, draft_text: str, first: FirstFrame | None
) -> tuple[int, Switch | None]:
    async def serve(pending: PendingSession, tape: LiveTape) -> None:
        from alita_tui.app.background.consoles import announced
        from alita_tui.app.idle import improve_when_idle
        from alita_tui.app.session import open_session

        session = await open_session(app, wanted_id, parks=False)
        session.folded_view = tape.newest
        tape.follow(session.history)
        pending.resolve(session)
        beside = (
            asyncio.create_task(improve_when_idle(app, session, home), name="alita idle pass"),
            asyncio.create_task(session.closing_state.prepare(tape.newest), name="alita closing state"),
        )
        try:
            with announced(app.paths.consoles, session.session_id):
                # The engine continues from the state that the console has reduced.
                await session.run(ready=session.source.caught_up, attended=True)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    return await _show(
        app,
        serve,
        "--session",
        new=wanted_id is None,
        draft_text=draft_text,
        first=first,
    )


def open_attached(home: Path | None, session: str | None) -> None:
    """Open the console on a session of the background, by default the one that waits or else the newest."""
    need_terminal()
    atexit.register(_end)
    app = AppContext.open(home)
    app.paths.prepare()
    _run_until_left(app, *asyncio.run(_show_attached(app, session)), home)


async def _show_attached(app: AppContext, wanted_id: str | None) -> tuple[int, Switch | None]:
    """Show a session that the background has open until it is left; the background continues with it."""
    from alita_tui.app.background.client import ask, attachable
    from alita_tui.app.background.remote import RemoteSession
    from alita_tui.app.background.wire import Look
    from alita_tui.app.recordings import recording
    from alita_tui.spine.history import History

    session_id = attachable(await ask(app, Look()), wanted_id, app.paths)

    async def serve(pending: PendingSession, tape: LiveTape) -> None:
        recorded = History(await asyncio.to_thread(recording, app, session_id))
        session = RemoteSession(session_id, recorded, app.paths.background_socket)
        tape.follow(session.history)
        pending.resolve(session)
        await session.run()
        if not session.left:
            raise StoreError(
                "The background ended; what it was doing is kept.",
                hint="Start it again with `alita serve`, or open the session here: "
                f"{_way_back(app, '--session', session_id)}",
            )

    return await _show(app, serve, "attach")


async def _show(
    app: AppContext,
    open_and_serve: Serve,
    opens: str,
    *,
    new: bool = False,
    draft_text: str = "",
    first: FirstFrame | None = None,
) -> tuple[int, Switch | None]:
    """Show what is served until it is left; `opens` is the option or command that opens the session again."""
    from alita_tui.console.app import AlitaApp
    from alita_tui.console.drafts import Drafts
    from alita_tui.console.terminal import guarded_screen
    from alita_tui.replay.playback import LiveTape
    from alita_tui.store.drafts import DraftFile
    from alita_tui.view.queries import waiting_words

    painted = asyncio.Event()
    pending = PendingSession()
    tape = LiveTape()
    redactor = cache(app.redactor)

    async def serve() -> None:
        await painted.wait()  # opening a long session, and the engine's imports, would delay the first paint
        await open_and_serve(pending, tape)

    engine = asyncio.create_task(serve(), name="alita engine")
    console = AlitaApp(
        pending,
        pending,
        catalog=AppCatalog(app, painted, pending.history),
        options=_options(app, draft_text, first.terminal if first else None, opens=opens),
        upkeep=pending,
        tape=tape,
        drafts=Drafts(DraftFile(app.paths.drafts, lambda text: redactor().text(text)), new=new),
    )
    engine.add_done_callback(
        lambda task: console.exit() if not task.cancelled() and task.exception() else None
    )
    if first is not None:
        first.hand_over()
    with guarded_screen(app.paths.log):
        switch = await console.run_async(mouse=app.loaded.settings.console.mouse)
    if console.failure is not None and not (engine.done() and engine.exception()):
        await _closed(pending, engine, painted)
        raise _unexpected(console.failure, app.paths.log)
    painted.set()
    await asyncio.wait((engine, pending.opened), return_when=asyncio.FIRST_COMPLETED)
    if not engine.done():
        from alita_tui.app.session import close_session

        session = pending.opened.result()
        await close_session(session, engine)
        if switch is None and console.main.view.tasks:
            if waits := waiting_words(console.main.view):
                sys.stdout.write(f"{waits}\n")
            sys.stdout.write(f"To come back to this session: {_way_back(app, opens, session.session_id)}\n")
    else:
        engine.result()
    return console.return_code or 0, switch


async def _show_replay(app: AppContext, wanted_id: str | None, at: int | None) -> tuple[int, Switch | None]:
    from rich.console import Console

    from alita_tui.app.recordings import history
    from alita_tui.console.app import AlitaApp
    from alita_tui.console.terminal import guarded_screen
    from alita_tui.replay.playback import Playback
    from alita_tui.replay.recording import Recording
    from alita_tui.spine.text import one_line

    damaged: list[str] = []
    with Console(stderr=True).status("Opening the session …"):
        envelopes = await asyncio.to_thread(history, app, wanted_id, damaged.append)
        playback = Playback(await asyncio.to_thread(Recording.prepared, envelopes))
    if at is not None:
        playback.seek_seq(at)
    console = AlitaApp(playback, None, catalog=AppCatalog(app), options=_options(app), playback=playback)
    for note in damaged:
        console.call_later(console.notify, one_line(note, 300), severity="warning", markup=False, timeout=30)
    with guarded_screen(app.paths.log):
        switch = await console.run_async(mouse=app.loaded.settings.console.mouse)
    if console.failure is not None:
        raise _unexpected(console.failure, app.paths.log)
    return console.return_code or 0, switch


async def _closed(pending: PendingSession, engine: asyncio.Task[None], painted: asyncio.Event) -> None:
    """Close the session of a console that failed, or cancel its opening."""
    from alita_tui.app.session import close_session

    if pending.opened.done():
        await close_session(pending.opened.result(), engine)
    else:
        engine.cancel()
        await asyncio.wait((engine,))
    painted.set()


def _unexpected(error: Exception, log: Path) -> AlitaError:
    return AlitaError(
        f"The console stopped at an error that it did not expect: {type(error).__name__}: {one_line(str(error), 200)}",
        hint=f"Nothing that was recorded is lost: `alita sessions`. For a report: {log}",
    )


async def _run_wizard(app: AppContext) -> bool:
    """Show the wizard. Return True when a choice was saved."""
    from alita_tui.app.wizard import run_wizard

    return await run_wizard(app, _options(app)) is not None
