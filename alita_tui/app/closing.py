"""Closing a session: its state, prepared ahead so that closing a long one takes no longer, and whether it stays."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.spine.errors import AlitaError

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.spine.history import History
    from alita_tui.view.model import SessionView

_LOOK_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
"""Between two chunks: hashing one takes some milliseconds, in which the console cannot paint."""
_MOST_LEFT = 8
"""Chunks that are still hashed while a person waits for the console to close."""
_OPENING = (e.SessionOpened, e.LibraryLoaded, e.SandboxChecked, e.NoticeRaised, e.SessionClosed)
"""Events that come of opening and leaving a session alone."""


def unused(history: History) -> bool:
    """Return True for a session that was opened as a new one, and in which nothing was done."""
    return all(isinstance(envelope.event, _OPENING) for envelope in history)


def erase(app: AppContext, session_id: str) -> None:
    """Remove an unused session, unless it has a label or a file, or a task was left for it.

    It stays if that cannot be found out, or if another process has opened it by now.
    """
    from alita_tui.store.artefacts import folder_of
    from alita_tui.store.labels import Label
    from alita_tui.store.task_inbox import TaskInbox

    path = app.sessions.path(session_id)
    with suppress(AlitaError):
        tasks = TaskInbox(app.paths.left_tasks, app.audit).waiting(session_id)
        if not tasks and not folder_of(path).exists() and app.labels.of(session_id) == Label(session_id):
            app.sessions.trash.erase(path)


class ClosingState:
    """The fingerprint of a session's view. Hashes of parts that no longer change are computed ahead and cached."""

    def __init__(self) -> None:
        from alita_tui.view.fingerprint import Digests

        self._digests = Digests()

    async def prepare(self, seen: Callable[[], SessionView], look_seconds: float = _LOOK_SECONDS) -> None:
        """Hash new parts of the view every `look_seconds`, until cancelled; `seen` returns the view."""
        hashed = None
        while True:
            if (view := seen()).seq != hashed:
                for chunk in self._digests.missing(view):
                    await asyncio.to_thread(self._digests.of, chunk)
                    await asyncio.sleep(_PAUSE_SECONDS)
                hashed = view.seq
            await asyncio.sleep(look_seconds)

    def fingerprint(self, history: History, view: SessionView | None, *, attended: bool) -> str:
        """Return the fingerprint of the whole history; `view` is that of its beginning.

        Empty, which no replay compares, if a person waits (`attended`) and too much is not hashed yet.
        """
        from alita_tui.view.fingerprint import fingerprint
        from alita_tui.view.fold import fold_all

        start = bisect_right(history, view.seq, key=lambda envelope: envelope.seq or 0) if view else 0
        whole = fold_all(history[start:], view)
        if attended and len(self._digests.missing(whole)) > _MOST_LEFT:
            return ""
        return fingerprint(whole, self._digests)
