"""Changes that other processes request to the task queue of a session that is open here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.spine.errors import StoreError

if TYPE_CHECKING:
    from alita_tui.agent.orchestrator import Orchestrator
    from alita_tui.app.context import AppContext

INBOX_SECONDS = 0.5
"""Seconds between two looks into the inbox."""


@asynccontextmanager
async def followed(
    app: AppContext, session_id: str, engine: Orchestrator, warn: Callable[[str], None]
) -> AsyncGenerator[None]:
    """While the context is open, pass commands from the session's task inbox to the engine."""
    following = asyncio.create_task(_follow(app, session_id, engine, warn), name="alita task inbox")
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait((following,))


async def _follow(
    app: AppContext, session_id: str, engine: Orchestrator, warn: Callable[[str], None]
) -> None:
    """Poll the inbox; each note stays in it until it was carried out."""
    from alita_tui.store.task_inbox import TaskInbox

    inbox = TaskInbox(app.paths.left_tasks, app.audit, warn)
    handed: set[Path] = set()
    while True:
        with suppress(StoreError):  # if the folder cannot be read or changed now, the next look retries
            for path, command in await asyncio.to_thread(inbox.waiting, session_id):
                if path not in handed:
                    handed.add(path)
                    engine.hand_in(command, partial(inbox.taken, path))
        await asyncio.sleep(INBOX_SECONDS)
