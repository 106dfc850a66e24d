"""`alita serve` and `attach`: tasks in the background, and the console for a browser of this machine."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.terminal import wants_lines
from alita_tui.cli.output import Json, json_document, json_line, table
from alita_tui.events import TaskFinished
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted, reveal


def serve(
    context: typer.Context,
    web: Annotated[
        bool, typer.Option("--web", help="The console in a browser, on this machine only.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="With --web; 0: any that is free.")
    ] = 0,
    status: Annotated[bool, typer.Option("--status", help="Print what the background does.")] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End the background; the next one continues its work.")
    ] = False,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing is left to do and nothing is scheduled.")
    ] = False,
    json: Json = False,
) -> None:
    """Do tasks in the background, on their schedules too; or --web: the console in a browser.

    One process per home, until Ctrl+C. With --web it prints the address, which holds a token: whoever has it can do
    what you can do in the console.
    """
    if sum((web, status, stop)) > 1:
        raise UsageError("--web, --status and --stop are three different things.", hint="Give one of them.")
    if web:
        _serve_browser(context, port)
    elif status or stop:
        _look(AppContext.open(context.obj), stop=stop, json=json)
    else:
        from alita_tui.app.background.server import Background

        app = AppContext.open(context.obj)
        app.paths.prepare()
        asyncio.run(Background(app, context.obj, _log).serve(until_idle=until_idle))


def attach(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="A session's id or its beginning; by default one that waits for you.")
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print its events as JSON lines instead, until all is done or decided."),
    ] = False,
) -> None:
    """Open the console on a session that the background works on.

    Leaving it ends nothing there.
    """
    if json:
        asyncio.run(_print_events(AppContext.open(context.obj), session))
        return
    if wants_lines():
        from alita_tui.cli.plain_opening import attach_plain

        attach_plain(context.obj, session)
        return
    from alita_tui.app.console import open_attached

    open_attached(context.obj, session)


def _log(line: str) -> None:
    typer.echo(f"{now().astimezone():%Y-%m-%d %H:%M:%S}  {reveal(line)}")
    sys.stdout.flush()


def _look(app: AppContext, *, stop: bool, json: bool) -> None:
    """Print what the background does, and end it with `stop`."""
    from alita_tui.app.background import client
    from alita_tui.app.background.wire import Look

    standing = asyncio.run(client.stop(app) if stop else client.ask(app, Look()))
    if standing is None:
        raise UsageError("No background runs for this home.", hint="Start one: alita serve")
    if json:
        json_document(standing)
        return
    typer.echo(f"process {standing.process}, alita {standing.version}{' (ended)' if stop else ''}")
    if standing.sessions:
        rows = (
            (session.session_id, session.state, session.schedule, session.task)
            for session in standing.sessions
        )
        table(("SESSION", "STATE", "SCHEDULE", "TASK"), rows)
        if not stop:
            typer.echo(f"{counted(len(standing.sessions), 'session')}; to look on: alita attach SESSION")


async def _print_events(app: AppContext, wanted_id: str | None) -> None:
    """Print the events of a session as they happen, until nothing is left to do in it."""
    from alita_tui.app.background.client import ask, attachable
    from alita_tui.app.background.remote import RemoteSession
    from alita_tui.app.background.wire import Look
    from alita_tui.spine.commands import CloseSession
    from alita_tui.spine.history import History
    from alita_tui.state.reduce import reduce_all
    from alita_tui.state.session import SessionState

    session_id = attachable(await ask(app, Look()), wanted_id, app.paths)
    session = RemoteSession(session_id, History(), app.paths.background_socket)
    running = asyncio.create_task(session.run())
    state = SessionState()
    async for envelope in session:
        json_line(envelope)
        if envelope.durable:
            state = reduce_all((envelope,), state)
        if isinstance(envelope.event, TaskFinished) and not state.running and not state.queue:
            session.send(CloseSession())
    await running


def _serve_browser(context: typer.Context, port: int) -> None:
    try:
        from alita_tui.app.browser import ConsoleServer, console_command
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The console in a browser needs the package {error.name}.",
            hint="Install it: pip install 'alita-tui[web]'",
        ) from error
    server = ConsoleServer(console_command(str(context.obj) if context.obj else None), os.environ, port)
    with suppress(KeyboardInterrupt):
        asyncio.run(server.run(_tell))


def _tell(link: str) -> None:
    typer.echo(f"Open this address in a browser of this machine. It is a key: do not pass it on.\n{link}")
    typer.echo("Ctrl+C ends it and its open consoles; sessions are saved.", err=True)
