"""What the console needs to know of stored sessions; implemented in `app`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from alita_tui.console.replay.player import Player
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.sessions import Bookmark, SessionHit
from alita_tui.view.compare import Comparison

ExportForm = Literal["html", "markdown", "asciicast", "jsonl"]


class SessionLine(msgspec.Struct, frozen=True):
    """A session in the list."""

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
    """How the last task ended."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    parent: str = ""
    """The session it was forked from."""
    parent_seq: int = 0
    waiting: tuple[str, ...] = ()
    """Tools whose builds wait for a verdict."""
    bookmarks: int = 0
    own_title: str = ""
    """The title it has without one from the person."""
    imported: bool = False
    """It comes from elsewhere: it can be looked at, and does not go on."""
    readable: bool = True
    """False where its title says why nothing of its file can be read."""

    @property
    def active(self) -> datetime:
        """When something last happened in it: the age that lists show."""
        return self.last_activity or self.started


class SessionCatalog(Protocol):
    """All sessions, and the person's labels for them. Every method may raise AlitaError."""

    async def sessions(self) -> tuple[SessionLine, ...]:
        """Return all sessions."""

    async def earlier_tasks(self, besides: str) -> tuple[str, ...]:
        """Return the tasks of the sessions besides one, the newest last."""

    async def search(self, text: str) -> tuple[SessionHit, ...]:
        """Return events of all sessions that match a text, best first."""

    async def player(self, session_id: str) -> Player:
        """Return a player for a session."""

    async def check_openable(self, session_id: str) -> None:
        """Raise AlitaError if a session cannot be opened to be continued."""

    async def compare(self, left: str, right: str) -> Comparison:
        """Compare two sessions."""

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session a title; an empty one restores its own."""

    async def tag(self, session_id: str, tags: tuple[str, ...]) -> None:
        """Replace a session's tags."""

    async def archive(self, session_id: str, archived: bool) -> None:
        """Archive a session, or bring it back."""

    async def delete(self, session_id: str) -> None:
        """Delete a session; `restore` brings it back."""

    async def restore(self, session_id: str) -> None:
        """Bring a deleted session back."""

    async def bookmarks(self, session_id: str) -> tuple[Bookmark, ...]:
        """Return a session's bookmarks, in order."""

    async def bookmark(self, session_id: str, seq: int, note: str | None) -> tuple[Bookmark, ...]:
        """Set a bookmark, or remove it if `note` is None; return the session's bookmarks."""

    async def fork(self, envelopes: Sequence[Envelope], seq: int) -> str:
        """Begin a session with the events up to `seq`; return its id."""

    async def export(self, envelopes: Sequence[Envelope], form: ExportForm) -> str:
        """Write the events to a file without their secrets; return its path."""
