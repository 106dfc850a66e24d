"""Titles, tags and bookmarks that the person gives to sessions, stored apart so that no record changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from alita_tui.events import Value, ready
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.sessions import Bookmark
from alita_tui.spine.text import one_line

_TITLE, _TAG, _NOTE = 120, 30, 400


class Label(Value, frozen=True):
    """All labels of one session."""

    session_id: str
    title: str = ""
    """Replaces the session's own title; empty to use that."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    bookmarks: tuple[Bookmark, ...] = ()
    """In the order of the events."""


class Labels:
    """The labels of all sessions. Every method may raise StoreError."""

    def __init__(
        self,
        documents: Documents,
        clock: Clock = lambda: datetime.now(UTC),
        *,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`redact` removes secrets from what the person writes."""
        self._documents = documents
        self._clock = clock
        self._redact = redact

    def all(self) -> dict[str, Label]:
        """Return labels by session; an unreadable one is skipped."""
        labels: dict[str, Label] = {}
        for document in self._documents.all():
            try:
                label = msgspec.convert(document, ready(Label))
            except msgspec.ValidationError:
                continue
            labels[label.session_id] = label
        return labels

    def of(self, session_id: str) -> Label:
        """Return the label of one session, empty if it has none."""
        return self.all().get(session_id, Label(session_id=session_id))

    def rename(self, session_id: str, title: str) -> Label:
        """Give a session a title (an empty one restores its own); return the label."""
        return self._change(session_id, lambda label: replace(label, title=self._line(title, _TITLE)))

    def tag(self, session_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Label:
        """Add and remove tags; return the label. Raises UsageError for an invalid tag."""
        added, removed = [_tag(tag) for tag in add], {_tag(tag) for tag in remove}

        def change(label: Label) -> Label:
            tags = dict.fromkeys(tag for tag in (*label.tags, *added) if tag not in removed)
            return replace(label, tags=tuple(sorted(tags)))

        return self._change(session_id, change)

    def archive(self, session_id: str, archived: bool) -> Label:
        """Archive a session, or bring it back into the list; return the label."""
        return self._change(session_id, lambda label: replace(label, archived=archived))

    def bookmark(self, session_id: str, seq: int, note: str | None) -> Label:
        """Set an event's bookmark or change its note (None removes it); return the label."""

        def change(label: Label) -> Label:
            bookmarks = [bookmark for bookmark in label.bookmarks if bookmark.seq != seq]
            if note is not None:
                text = self._line(note, _NOTE)
                bookmarks.append(Bookmark(seq=seq, note=text, at=self._clock().isoformat()))
            return replace(label, bookmarks=tuple(sorted(bookmarks, key=lambda bookmark: bookmark.seq)))

        return self._change(session_id, change)

    def _line(self, text: str, limit: int) -> str:
        return str(one_line(self._redact(text), limit))

    def _change(self, session_id: str, change: Callable[[Label], Label]) -> Label:
        changed = change(self.of(session_id))
        if changed == Label(session_id=session_id):
            self._documents.remove(session_id)
        else:
            self._documents.put(session_id, msgspec.to_builtins(changed))
        return changed


def _tag(text: str) -> str:
    tag = str(one_line(text)).strip().lstrip("#").lower()
    if not tag or len(tag) > _TAG or " " in tag or "," in tag:
        raise UsageError(
            f"{one_line(text, 60)!r} is not a tag.",
            hint=f"One word of at most {_TAG} characters, such as 'csv'.",
        )
    return tag
