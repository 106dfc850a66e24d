"""Data about sessions that is not in their events: matches of a search, and the person's bookmarks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from alita_tui.events import Value


class SessionHit(Value, frozen=True):
    """An event whose text matches a search."""

    session_id: str
    seq: int
    kind: str
    """The kind of its row in the trace."""
    pieces: tuple[str, ...]
    """The text around the match, on one line; every other piece, from the second on, is what matched."""
    at: str = ""
    """ISO 8601, UTC."""


class Bookmark(Value, frozen=True):
    """A place in a session, with a note."""

    seq: Annotated[int, Meta(ge=1)]
    note: str = ""
    at: str = ""
    """When it was set; ISO 8601, UTC."""
