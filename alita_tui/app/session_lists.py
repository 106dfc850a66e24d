"""What the console lists of all sessions: a line for each, and the tasks that were given in them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from alita_tui import events as e
from alita_tui.app.identity import now
from alita_tui.console.sessions.catalog import SessionLine
from alita_tui.spine.errors import AlitaError
from alita_tui.store.labels import Label
from alita_tui.store.sessions import SessionFile

if TYPE_CHECKING:
    from pathlib import Path

    from alita_tui.app.context import AppContext

_SESSIONS, _TASKS = 30, 200
"""How many sessions are read for earlier tasks at most, and how many tasks are returned."""
_LARGEST = 8_000_000
"""Bytes of the largest session that is read for them: a larger one would take a second."""


def session_lines(app: AppContext) -> tuple[SessionLine, ...]:
    """Return a line for each session, newest first."""
    labels = app.labels.all()
    return tuple(
        SessionLine(
            session_id=session.session_id,
            title=label.title or session.title,
            started=session.started or now(),
            events=session.events,
            state="damaged"
            if session.discarded or session.state == "unreadable"
            else "waiting"
            if session.pending
            else session.state,
            cost_usd=session.cost_usd,
            tools_built=session.tools_built,
            last_activity=session.last_activity,
            model=session.model,
            tasks=session.tasks,
            outcome=session.outcome,
            tags=label.tags,
            archived=label.archived,
            parent=session.parent,
            parent_seq=session.parent_seq,
            waiting=tuple(f"{build.name} v{build.version}" for build in session.pending),
            bookmarks=len(label.bookmarks),
            own_title=session.title,
            imported=session.imported,
            readable=session.state != "unreadable",
        )
        for session in app.sessions.list()
        for label in (labels.get(session.session_id, Label(session_id=session.session_id)),)
    )


def earlier_tasks(app: AppContext, besides: str) -> tuple[str, ...]:
    """Return the tasks that the person gave in the newest other sessions, the newest last.

    Sessions from elsewhere and what MCP clients asked for are left out: they are not the person's words.
    """
    own = [one for one in app.sessions.list() if one.tasks and not one.imported and one.session_id != besides]
    texts: list[str] = []
    for session in own[:_SESSIONS]:
        path = app.sessions.path(session.session_id)
        with suppress(AlitaError, OSError):
            if path.exists() and path.stat().st_size > _LARGEST:
                continue
            texts = [*_tasks_of(path), *texts]
        if len(texts) >= _TASKS:
            break
    return tuple(texts[-_TASKS:])


def _tasks_of(path: Path) -> list[str]:
    file = SessionFile.open(path, readonly=True)
    try:
        submitted = [one.event for one in file.history().newest(e.TaskSubmitted)]
    finally:
        file.close()
    return [
        event.text
        for event in reversed(submitted)
        if isinstance(event, e.TaskSubmitted) and not event.again and not event.improves
    ]
