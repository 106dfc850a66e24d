"""Builds a proposal while alita is idle, in a process and a session of its own.

This approves or retires nothing: the build waits for a verdict, and a notice reports it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.events import NoticeRaised, ready
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.app.session import LiveSession

_LOOK_SECONDS = 30.0
_LONGEST_SECONDS = 1800.0
_ENDING_SECONDS = 10.0


async def improve_when_idle(
    app: AppContext, session: LiveSession, home: Path | None, look_seconds: float = _LOOK_SECONDS
) -> None:
    """Have one proposal built each time the session has lain idle for long enough, until this is cancelled.

    `home` is the folder that alita was started with, if any.
    """
    chosen = app.loaded.settings.improve
    if not chosen.idle or not chosen.per_day or app.demo:
        return
    wait, tried_at = timedelta(minutes=chosen.idle_minutes), 0
    while True:
        await asyncio.sleep(look_seconds)
        history = session.bus.history
        if not session.engine.idle or not history or len(history) == tried_at:
            continue
        if now() - history[-1].at < wait:
            continue
        with suppress(AlitaError, OSError):
            if await asyncio.to_thread(_builds_left, app):
                for notice in notices(await _built(app, home)):
                    await session.bus.emit(notice)
        tried_at = len(history)


def _builds_left(app: AppContext) -> bool:
    from alita_tui.app.improving import left_today

    return left_today(app) > 0


async def _built(app: AppContext, home: Path | None) -> bytes:
    """Have `alita tools improve` build one proposal; return its output.

    With `-P` Python imports nothing from the folder that the console was started in.
    """
    home_option = ("--home", str(home)) if home is not None else ()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "alita_tui", *home_option, "tools", "improve", "--most", "1", "--json",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **app.environ}, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            output, _ = await process.communicate()
            return output
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            process.terminate()  # it interrupts its build and shuts down cleanly
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDING_SECONDS):
                    await process.wait()
        if process.returncode is None:
            process.kill()


def notices(output: bytes) -> tuple[NoticeRaised, ...]:
    """Return a notice for each build of a pass that waits for a verdict."""
    try:
        listed = msgspec.json.decode(output or b"[]", type=ready(list[dict[str, Any]]))
    except msgspec.DecodeError:
        return ()
    return tuple(_notice(proposal) for proposal in listed if proposal.get("outcome") == "parked")


def _notice(proposal: dict[str, Any]) -> NoticeRaised:
    summary = f"{proposal.get('kind')} of {proposal.get('name')}: {proposal.get('reason')}"
    return NoticeRaised(
        level="info",
        text=str(one_line(f"A proposal waits for your decision: {summary}", 400)),
        hint="It was built while nothing else was done. See it in the sessions, or: alita builds list",
    )
