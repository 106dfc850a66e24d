"""The console's sessions, from the house's stores; what blocks runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_tui.console.keeping import BookmarkLine, ExportForm, HitLine, SessionLine
    from alita_tui.console.player import Player
    from alita_tui.spine.envelope import Envelope
    from alita_tui.store.labels import Label
    from alita_tui.view.compare import Comparison
    from alita_tui.wiring.house import House


class HouseKeeper:
    """Meets the console's `SessionKeeper`."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def sessions(self) -> tuple[SessionLine, ...]:
        """See `SessionKeeper.sessions`."""
        return await asyncio.to_thread(_lines, self._house)

    async def search(self, text: str) -> tuple[HitLine, ...]:
        """See `SessionKeeper.search`."""
        from alita_tui.console.keeping import HitLine

        found = await asyncio.to_thread(self._house.session_search.find, text)
        return tuple(
            HitLine(session_id=hit.session_id, seq=hit.seq, kind=hit.kind, pieces=hit.pieces) for hit in found
        )

    async def player(self, session_id: str) -> Player:
        """See `SessionKeeper.player`."""
        from alita_tui.replay.playback import Playback
        from alita_tui.replay.recording import Recording
        from alita_tui.wiring.records import history

        made = await asyncio.to_thread(lambda: Recording.prepared(history(self._house, session_id)))
        return Playback(made, position=len(made))

    async def compare(self, left: str, right: str) -> Comparison:
        """See `SessionKeeper.compare`."""
        from alita_tui.view.compare import compare
        from alita_tui.wiring.records import recording

        house = self._house
        return await asyncio.to_thread(lambda: compare(recording(house, left), recording(house, right)))

    async def rename(self, session_id: str, title: str) -> None:
        """See `SessionKeeper.rename`."""
        await asyncio.to_thread(self._house.labels.rename, session_id, title)

    async def tag(self, session_id: str, tags: tuple[str, ...]) -> None:
        """See `SessionKeeper.tag`."""
        labels = self._house.labels

        def write() -> Label:
            gone = set(labels.of(session_id).tags) - {tag.lstrip("#").lower() for tag in tags}
            return labels.tag(session_id, add=tags, remove=gone)

        await asyncio.to_thread(write)

    async def archive(self, session_id: str, archived: bool) -> None:
        """See `SessionKeeper.archive`."""
        await asyncio.to_thread(self._house.labels.archive, session_id, archived)

    async def delete(self, session_id: str) -> None:
        """See `SessionKeeper.delete`."""
        await asyncio.to_thread(self._house.sessions.delete, session_id)

    async def restore(self, session_id: str) -> None:
        """See `SessionKeeper.restore`."""
        await asyncio.to_thread(self._house.sessions.restore, session_id)

    async def bookmarks(self, session_id: str) -> tuple[BookmarkLine, ...]:
        """See `SessionKeeper.bookmarks`."""
        return _bookmarks(await asyncio.to_thread(lambda: self._house.labels.of(session_id)))

    async def bookmark(self, session_id: str, seq: int, note: str | None) -> tuple[BookmarkLine, ...]:
        """See `SessionKeeper.bookmark`."""
        return _bookmarks(await asyncio.to_thread(lambda: self._house.labels.bookmark(session_id, seq, note)))

    async def fork(self, envelopes: Sequence[Envelope], seq: int) -> str:
        """See `SessionKeeper.fork`."""
        return await asyncio.to_thread(self._house.sessions.branch, envelopes, seq)

    async def export(self, envelopes: Sequence[Envelope], form: ExportForm) -> str:
        """See `SessionKeeper.export`: the file goes into the working folder, under a name that is free."""
        return str(await asyncio.to_thread(_export, self._house, envelopes, form))


def _lines(house: House) -> tuple[SessionLine, ...]:
    from alita_tui.console.keeping import SessionLine
    from alita_tui.store.labels import Label
    from alita_tui.wiring.identity import now

    labels = house.labels.all()
    return tuple(
        SessionLine(
            session_id=one.session_id,
            title=label.title or one.title,
            started=one.started or now(),
            events=one.events,
            state="damaged"
            if one.discarded or one.state == "unreadable"
            else "waiting"
            if one.pending
            else one.state,
            cost_usd=one.cost_usd,
            tools_built=one.tools_built,
            last_activity=one.last_activity,
            model=one.model,
            tasks=one.tasks,
            outcome=one.outcome,
            tags=label.tags,
            archived=label.archived,
            parent=one.parent,
            parent_seq=one.parent_seq,
            waiting=tuple(f"{build.name} v{build.version}" for build in one.pending),
            bookmarks=len(label.bookmarks),
            own_title=one.title,
        )
        for one in house.sessions.list()
        for label in (labels.get(one.session_id, Label(session_id=one.session_id)),)
    )


def _bookmarks(label: Label) -> tuple[BookmarkLine, ...]:
    from alita_tui.console.keeping import BookmarkLine

    return tuple(BookmarkLine(seq=one.seq, note=one.note) for one in label.bookmarks)


def _export(house: House, envelopes: Sequence[Envelope], form: ExportForm) -> Path:
    from alita_tui.cli.output import free, write_text
    from alita_tui.replay.export import ENDINGS, export

    text = export(envelopes, form, house.redactor().value)
    name = envelopes[0].session_id if envelopes else "session"
    path = free(Path(f"{name}.{ENDINGS[form]}"))
    write_text(path, text)
    return path.resolve()
