"""Opens a session for `alita --plain`: one of this process, or one that the background has open."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.evaluation.plain import Evaluations
from alita_tui.cli.plain import PlainConsole, Session
from alita_tui.cli.typed_lines import Lines
from alita_tui.config.invocation import command_line
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line


def open_plain(
    home: Path | None, session: str | None = None, model: str | None = None, project: str | None = None
) -> None:
    """Open a session, or a new one, without a full screen. Raises AlitaError."""
    _need_lines()
    app = AppContext.open(home, {"model": model, "memory.project": project})
    app.paths.prepare()
    if not app.loaded.settings.configured and session is None:
        raise UsageError(
            "No model is chosen yet.",
            hint="Choose one: `alita models default PROVIDER:NAME`. Or try the recorded one: `alita --plain demo`.",
        )
    asyncio.run(_live(app, session))


def attach_plain(home: Path | None, session: str | None) -> None:
    """Attach to a session of the background without a full screen. Raises AlitaError."""
    _need_lines()
    asyncio.run(_attached(AppContext.open(home), session))


def _need_lines() -> None:
    if not sys.stdin.isatty():
        raise UsageError("Nobody can type here.", hint='Use `alita run "TASK"` instead.')


async def _live(app: AppContext, wanted_id: str | None) -> None:
    from alita_tui.app.background.consoles import announced
    from alita_tui.app.session import close_session, open_session

    typer.echo("Opening the session …")
    session = await open_session(app, wanted_id, parks=False)
    recorded = len(session.history)
    running = asyncio.create_task(session.run(attended=True))
    with announced(app.paths.consoles, session.session_id):
        await _converse(app, session, running, recorded, app.suggestions)
        if not running.done():
            await close_session(session, running)
    running.result()
    again = command_line(app.paths, "--plain", "--session", session.session_id)
    typer.echo(f"To come back to this session: {again}")


async def _attached(app: AppContext, wanted_id: str | None) -> None:
    from alita_tui.app.background.client import ask, attachable
    from alita_tui.app.background.remote import RemoteSession
    from alita_tui.app.background.wire import Look
    from alita_tui.app.recordings import recording
    from alita_tui.app.session import close_session
    from alita_tui.spine.history import History

    session_id = attachable(await ask(app, Look()), wanted_id, app.paths)
    recorded = History(await asyncio.to_thread(recording, app, session_id))
    session = RemoteSession(session_id, recorded, app.paths.background_socket)
    running = asyncio.create_task(session.run())
    await _converse(app, session, running, len(recorded), ())
    if not running.done():
        await close_session(session, running)
    running.result()
    typer.echo(f"To look on again: {command_line(app.paths, 'attach', session_id)}")


async def _converse(
    app: AppContext, session: Session, running: asyncio.Task[None], recorded: int, suggestions: Sequence[str]
) -> None:
    """Print a session's events and carry out typed lines until the person leaves or the session ends."""
    typer.echo(f"Session {session.session_id}. Type a task, or /help.")
    for suggestion in () if recorded else suggestions[:3]:
        typer.echo(f"  for example: {one_line(suggestion, 200)}")
    with Lines() as lines:
        evaluations = Evaluations(app)
        console = PlainConsole(session, lines, evaluations.do)
        showing = asyncio.create_task(console.show(recorded))
        typing = asyncio.create_task(console.take_lines())
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, console.stop)
        await asyncio.wait((running, typing, showing), return_when=asyncio.FIRST_COMPLETED)
        if not typing.done():  # the session ended by itself
            await asyncio.wait((showing,))
        for task in (typing, showing):
            task.cancel()
        await asyncio.wait((typing, showing))
        await evaluations.end()
    for task in (typing, showing):
        if not task.cancelled():
            task.result()
