"""What the console asks of whoever keeps the sessions. Met by `app`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from alita_tui.console.replay.player import Player
from alita_tui.spine.envelope import Envelope
from alita_tui.view.compare import Comparison

ExportForm = Literal["html", "markdown", "asciicast", "jsonl"]


class SessionLine(msgspec.Struct, frozen=True):
    """One session in the list."""

    session_id: str
    title: str
    started: datetime
    events: int
    state: str
    """`open`, `closed`, `stopped`, `waiting` for a verdict, or `damaged`."""
    cost_usd: float = 0.0
    tools_built: int = 0
    last_activity: datetime | None = None
    model: str = ""
    tasks: int = 0
    outcome: str = ""
    """How its last task ended."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    parent: str = ""
    """The session it was forked from."""
    parent_seq: int = 0
    waiting: tuple[str, ...] = ()
    """Tools whose builds wait for a verdict."""
    bookmarks: int = 0
    own_title: str = ""
    """The title it has where the person gave none."""


class HitLine(msgspec.Struct, frozen=True):
    """An event that a search found."""

    session_id: str
    seq: int
    kind: str
    pieces: tuple[str, ...]
    """The text around the match; every other piece, from the second on, is what matched."""


class BookmarkLine(msgspec.Struct, frozen=True):
    """A place in a session, with a note."""

    seq: int
    note: str


class SessionCatalog(Protocol):
    """The sessions and what the person adds to them. Every method may raise AlitaError."""

    async def sessions(self) -> tuple[SessionLine, ...]:
        """All sessions, newest first."""

    async def search(self, text: str) -> tuple[HitLine, ...]:
        """Events of all sessions with the words of a text, the best first."""

    async def player(self, session_id: str) -> Player:
        """A session to be looked at; nothing runs."""

    async def compare(self, left: str, right: str) -> Comparison:
        """Two sessions side by side."""

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session a title; an empty one gives its own back."""

    async def tag(self, session_id: str, tags: tuple[str, ...]) -> None:
        """Have a session carry exactly these tags."""

    async def archive(self, session_id: str, archived: bool) -> None:
        """Take a session out of the list, or put it back."""

    async def delete(self, session_id: str) -> None:
        """Delete a session; `restore` brings it back."""

    async def restore(self, session_id: str) -> None:
        """Bring a deleted session back."""

    async def bookmarks(self, session_id: str) -> tuple[BookmarkLine, ...]:
        """A session's bookmarks, in order."""

    async def bookmark(self, session_id: str, seq: int, note: str | None) -> tuple[BookmarkLine, ...]:
        """Set a bookmark, or take it away with None; gives all of the session."""

    async def fork(self, envelopes: Sequence[Envelope], seq: int) -> str:
        """Begin a session with these events up to one; gives its id."""

    async def export(self, envelopes: Sequence[Envelope], form: ExportForm) -> str:
        """Write the events into a file without their secrets; gives its path."""
