"""Text that was typed and not sent, in one small private file: it survives quitting, a crash and kill -9.

Known secrets are removed before anything is written. A damaged file is ignored, because it is not a record.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from alita_tui.events import ready
from alita_tui.spine.ports.stream import Clock
from alita_tui.store.disk import PRIVATE, make_folder, replace
from alita_tui.system.files import read_plain

MOST = 60
"""How many drafts are stored; the oldest are dropped."""
LONGEST = 200_000
"""Longest stored draft, in characters."""


class Draft(msgspec.Struct, frozen=True):
    """The text of one field of one session."""

    session: str
    field: str
    text: str
    at: str
    process: int
    """Who wrote it."""
    fresh: bool = False
    """Whether the session had no task yet; then the next new session takes it over."""


class DraftFile:
    """The drafts of one session, in the file of all of them."""

    def __init__(
        self,
        path: Path,
        redact: Callable[[str], str],
        *,
        now: Clock = lambda: datetime.now(UTC),
        alive: Callable[[int], bool] | None = None,
    ) -> None:
        """`redact` removes secrets from a text. `alive` returns whether a process still runs."""
        self._path = path
        self._redact = redact
        self._now = now
        self._alive = alive or _runs

    def read(self, session: str, *, fresh: bool) -> dict[str, str]:
        """Return a session's drafts by field; a `fresh` session takes over the last ones of a session that is gone."""
        if not self._path.exists():
            return {}
        with self._locked():
            drafts = self._load()
            texts = {draft.field: draft.text for draft in drafts if draft.session == session}
            if fresh and not texts:
                orphans = [draft for draft in drafts if draft.fresh and not self._in_use(draft)]
                if orphans:
                    newest = max(orphans, key=lambda draft: draft.at).session
                    adopted = [draft for draft in orphans if draft.session == newest]
                    texts = {draft.field: draft.text for draft in adopted}
                    moved = [
                        msgspec.structs.replace(draft, session=session, process=os.getpid())
                        for draft in adopted
                    ]
                    self._save([*(draft for draft in drafts if draft not in adopted), *moved])
        return texts

    def write(self, session: str, fields: Mapping[str, str], *, fresh: bool) -> None:
        """Store the text of some fields; empty ones are removed. Raises OSError."""
        if not self._path.exists() and not any(fields.values()):
            return
        at, process = self._now().isoformat(), os.getpid()
        with self._locked():
            drafts = [
                draft for draft in self._load() if draft.session != session or draft.field not in fields
            ]
            drafts += [
                Draft(session, field, self._redact(text[:LONGEST]), at, process, fresh)
                for field, text in fields.items()
                if text
            ]
            self._save(sorted(drafts, key=lambda draft: draft.at)[-MOST:])

    def _in_use(self, draft: Draft) -> bool:
        return draft.process != os.getpid() and self._alive(draft.process)

    def _load(self) -> list[Draft]:
        try:
            return msgspec.json.decode(read_plain(self._path), type=ready(list[Draft]))
        except (OSError, msgspec.MsgspecError):
            return []

    def _save(self, drafts: list[Draft]) -> None:
        replace(self._path, [msgspec.json.encode(drafts)])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_folder(self._path.parent)
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
