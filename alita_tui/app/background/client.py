"""Hands tasks to the background and asks what it does; starts it if none runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from alita_tui.app.background import wire
from alita_tui.app.background.consoles import open_in_console
from alita_tui.app.background.ledger import Ledger, Work
from alita_tui.app.context import AppContext
from alita_tui.app.project import current_project
from alita_tui.app.tasks import change
from alita_tui.config.invocation import command_line
from alita_tui.config.paths import Paths
from alita_tui.spine.commands import SubmitTask
from alita_tui.spine.errors import AlitaError, StoreError, UsageError
from alita_tui.spine.text import one_line

_START_SECONDS = 120.0
_PAUSE_SECONDS = 0.1


class HandedOver(NamedTuple):
    """Where a task went."""

    session_id: str
    process: int
    """Of the background; 0 for a console."""


async def hand_over(
    app: AppContext,
    home: Path | None,
    task: SubmitTask,
    session: str | None,
    *,
    model: str | None,
    project: str | None,
) -> HandedOver:
    """Queue a task on disk and have it run: by the console that is open, else by the background.

    With a model, a project or a session that the console does not have open, it goes to the background, which is
    started if none runs. Raises UsageError, StoreError.
    """
    consoles = await asyncio.to_thread(open_in_console, app.paths.consoles)
    if session is not None:
        session = app.sessions.find_own(session).stem
    elif consoles and model is None and project is None:
        session = consoles[0]
    await asyncio.to_thread(app.models)  # an unknown model is refused before a session is created
    session_id, changed = await change(app, session, task, fresh=session is None)
    if session_id in consoles and not changed:  # it was left for the console
        return HandedOver(session_id, 0)
    ledger = await asyncio.to_thread(Ledger, app)
    await asyncio.to_thread(
        ledger.put, Work(session_id=session_id, model=model, project=current_project(app))
    )
    return HandedOver(session_id, (await started(app, home)).process)


async def started(app: AppContext, home: Path | None) -> wire.Standing:
    """Have the background look for work; start it if none runs. Raises StoreError, UsageError."""
    if standing := await ask(app, wire.Look()):
        return standing
    log = app.paths.background_log
    process, begins = await asyncio.to_thread(_start, log, home)
    until = asyncio.get_running_loop().time() + _START_SECONDS
    while asyncio.get_running_loop().time() < until:
        if standing := await ask(app, wire.Look()):
            return standing
        if process.poll() is not None:
            output = log.read_bytes()[begins:].decode("utf-8", "replace").strip()
            raise StoreError(
                f"The background did not start: {one_line(output, 300) or f'it ended with code {process.returncode}'}",
                hint="The task is saved. See what is wrong with: alita serve",
            )
        await asyncio.sleep(_PAUSE_SECONDS)
    raise StoreError(
        f"The background did not answer within {_START_SECONDS:.0f} s.",
        hint=f"The task is saved. Its log: {log}",
    )


def _start(log: Path, home: Path | None) -> tuple[subprocess.Popen[bytes], int]:
    """Start a background that outlives this process; return it, and the offset in the log where its output begins."""
    options = ("--home", str(home)) if home else ()
    try:
        with open(log, "ab", opener=_private) as output:  # Path.open takes no opener
            begins = output.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "alita_tui", *options, "serve", "--until-idle"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
    except OSError as error:
        raise StoreError(f"{log} cannot be written: {error.strerror}.", hint="Check its folder.") from error
    return process, begins


async def ask(app: AppContext, request: wire.Look | wire.End) -> wire.Standing | None:
    """Return what the background does; None if none runs. Raises UsageError, StoreError."""
    async with wire.connected(app.paths.background_socket) as link:
        if link is None:
            return None
        reader, writer = link
        try:
            writer.write(wire.framed(request))
            await writer.drain()
            answer = await wire.reply(reader)
        except (ConnectionError, ValueError):
            return None
        return answer if isinstance(answer, wire.Standing) else None


async def running(app: AppContext) -> tuple[wire.Session, ...]:
    """Return the sessions that the background has open; empty if it does not run or does not answer."""
    with suppress(AlitaError):
        standing = await ask(app, wire.Look())
        return standing.sessions if standing else ()
    return ()


async def stop(app: AppContext) -> wire.Standing | None:
    """End the background, and wait until it has; return what it did, None if none runs. Raises AlitaError."""
    standing = await ask(app, wire.End())
    while standing is not None and _runs(app):  # noqa: ASYNC110  # of another process
        await asyncio.sleep(_PAUSE_SECONDS)
    return standing


def _runs(app: AppContext) -> bool:
    """Return whether a background of this home runs, even if it is only closing its sessions."""
    from alita_tui.app.background.server import only_one

    try:
        with only_one(app.paths.background_socket):
            return False
    except UsageError:
        return True


def attachable(standing: wire.Standing | None, id_prefix: str | None, paths: Paths) -> str:
    """Return the session to attach to, by default the one that waits for the person, else the newest.

    Raises UsageError.
    """
    sessions = standing.sessions if standing else ()
    ids = [session.session_id for session in sessions if session.session_id.startswith(id_prefix or "")]
    if id_prefix is not None and len(ids) > 1:
        raise UsageError(
            f"More than one session begins with {one_line(id_prefix, 60)}.", hint="Give more of its id."
        )
    if not ids:
        alita = command_line(paths)
        target = f"on session {one_line(id_prefix, 60)}" if id_prefix else "on any session"
        raise UsageError(
            f"The background does not work {target}.",
            hint=f'Hand it a task: {alita} run --detach "TASK"; open a session here: {alita} --session ID',
        )
    waiting = [
        session.session_id for session in sessions if session.session_id in ids and session.state == "waiting"
    ]
    return (waiting or ids)[-1]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
