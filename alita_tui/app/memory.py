"""The person's commands on memory: editing without secrets, learning from a session, forgetting, export."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from alita_tui import events as e
from alita_tui.app.closed_session import resumed
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import history
from alita_tui.events import Json, MemoryItem
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreLocked, UsageError
from alita_tui.spine.history import of
from alita_tui.spine.ports.memory import SHARED, Remembered

if TYPE_CHECKING:
    from alita_tui.memory.recall import Recollection

FORMAT = "alita-memory/1"


def recollection(app: AppContext) -> Recollection:
    """Return the memory, with the vectors of the encoder that is set. Raises StoreError."""
    from alita_tui.app.encoding import vectors_in
    from alita_tui.app.project import current_project
    from alita_tui.memory.background import REQUESTS
    from alita_tui.memory.recall import Recollection

    app.paths.prepare()
    vectors = vectors_in(app, app.paths.memory_vectors, REQUESTS)
    return Recollection(app.documents(app.paths.memory, "items"), current_project(app), now, vectors)


def edited(app: AppContext, item_id: str, text: str) -> Remembered:
    """Replace an item's text by the person's words. Raise UsageError if they hold a secret."""
    if app.redactor().text(text) != text:
        raise UsageError(
            "That is not kept: it holds a secret.", hint="Say it without the key, the token or the password."
        )
    return app.memory.edit(item_id, text)


def learned(app: AppContext, session: str | None) -> tuple[MemoryItem, ...]:
    """Learn from a recorded session what its own tasks teach, and return the new items.

    With this a person has memory learn from a fork or an imported session. Tasks from before the fork were learned
    from already. A session from elsewhere teaches no facts: what its person said is not this person's word.
    """
    from alita_tui.memory.lessons import lessons

    envelopes = history(app, session)
    first = envelopes[0].event if envelopes else None
    taught = first.parent_seq if isinstance(first, e.SessionOpened) and first.parent else 0
    tasks = [
        cast(e.TaskSubmitted, envelope.event).task_id
        for envelope in of(envelopes, e.TaskSubmitted)
        if (envelope.seq or 0) > taught
    ]
    elsewhere = isinstance(first, e.SessionOpened) and first.imported or not _is_own(app, session)
    by_id = {item.item.item_id: item for item in app.memory.remembered()}
    new: dict[str, MemoryItem] = {}
    for item in (item for task_id in tasks for item in lessons(envelopes, task_id)):
        if elsewhere and item.memory == "semantic":
            continue
        source = f"{item.source_session}:{item.source_seq}"
        if item.item_id in by_id and source in by_id[item.item_id].sources:
            continue
        if app.memory.write(item) is not None:
            new[item.item_id] = item
    return tuple(new.values())


def _is_own(app: AppContext, session: str | None) -> bool:
    """Return whether a session is in this home, and not a file that was named by its path."""
    try:
        return session is None or bool(app.sessions.find_own(session))
    except UsageError:
        return False


async def forgotten(app: AppContext, remembered: Remembered) -> tuple[str, ...]:
    """Forget an item, and record that in the sessions that taught it.

    A session that only recalled it gets the event when it is opened next (`forgotten_since`). Return the sessions that
    are open in other processes: they keep it in their conversation until they end. Raise StoreError.
    """
    if app.memory.vectors is None:  # an encoder that was set once may have left some
        from alita_tui.registry.index_cache import IndexCache

        IndexCache(app.paths.memory_vectors).remove()
    app.memory.forget(remembered.item.item_id)
    sources = (*remembered.sources, f"{remembered.item.source_session}:{remembered.item.source_seq}")
    busy: list[str] = []
    for session in dict.fromkeys(source.rpartition(":")[0] for source in sources):
        try:
            await _record(app, session, e.MemoryForgotten(item_id=remembered.item.item_id))
        except UsageError:
            continue  # it was deleted, or comes from another machine
        except StoreLocked:
            busy.append(session)
    return tuple(busy)


def forgotten_since(app: AppContext, recorded: Sequence[Envelope]) -> list[e.MemoryForgotten]:
    """Return an event for each recalled memory that was forgotten since, so that it is not shown again."""
    recalled: dict[str, None] = {}
    for envelope in of(recorded, e.MemoryRecalled, e.MemoryForgotten):
        match envelope.event:
            case e.MemoryRecalled(items=items):
                recalled |= dict.fromkeys(item.item_id for item in items)
            case e.MemoryForgotten(item_id=item_id, back=True):
                recalled[item_id] = None
            case e.MemoryForgotten(item_id=item_id):
                recalled.pop(item_id, None)
            case _:
                pass
    forgotten_ids = app.memory.forgotten_among(recalled) if recalled else set()
    return [e.MemoryForgotten(item_id=item_id) for item_id in recalled if item_id in forgotten_ids]


async def _record(app: AppContext, session: str, event: e.MemoryForgotten) -> None:
    """Record an event in a session that is not open. Raise UsageError, StoreLocked, StoreError."""
    from alita_tui.app.session import open_file

    if not session:
        return
    file = await asyncio.to_thread(open_file, app, session)
    try:
        async with resumed(app, file) as bus:
            await bus.emit(event)
    finally:
        await asyncio.to_thread(file.close)


def source_of(remembered: Remembered) -> str:
    """Return the newest event that an item was learned from, as `session:seq`."""
    item = remembered.item
    return remembered.sources[-1] if remembered.sources else f"{item.source_session}:{item.source_seq}"


def as_json(remembered: Remembered) -> dict[str, Json]:
    """Return an item as it is printed and exported."""
    item = remembered.item
    return {
        "id": item.item_id, "kind": item.memory, "origin": item.origin, "text": item.text, "subject": item.subject,
        "project": remembered.project or None, "pinned": remembered.pinned,
        "at": remembered.at or None, "until": remembered.until or None,
        "source": source_of(remembered), "sources": list(remembered.sources), "tools": list(item.tools),
        "worked": remembered.worked, "failed": remembered.failed, "outcome": item.outcome, "cost_usd": item.cost_usd,
        "artefacts": list(item.artefacts), "steps": msgspec.to_builtins(remembered.steps),
    }  # fmt: skip


def exported(app: AppContext) -> dict[str, Json]:
    """Return the whole memory as one document, without secrets; of forgotten items only their number."""
    redact = app.redactor().value
    items = [redact(as_json(item)) for item in app.memory.remembered()]
    return {
        "format": FORMAT,
        "at": now().isoformat(timespec="seconds"),
        "items": items,
        "forgotten": len(app.memory.forgotten()),
    }


def project_named(name: str) -> str:
    """Return a project's name as it is stored; `shared` belongs to all projects."""
    return SHARED if name == "shared" else name.strip()
